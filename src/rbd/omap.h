// SPDX-License-Identifier: Apache-2.0
// Key-value pairs of RADOS objects: reads, and changes that are atomic together.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

// A question to the class "rbd" of the object stores, which knows the objects of images.
struct ClassCall {
  const char* method = nullptr;  // null: none
  std::string input;
  std::string answer;  // of a read: 255 bytes at most
};

// Values of the keys that exist, and in the same operation the answers to `calls`; none if there is
// no such object.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> ReadOmap(
    const CephPool& pool, const std::string& object, const std::vector<std::string>& keys,
    std::span<ClassCall> calls = {});

// Up to `limit` pairs whose keys come after `after`; `more` says whether there are others.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> ListOmap(const CephPool& pool,
                                                                          const std::string& object,
                                                                          const std::string& after,
                                                                          std::size_t limit,
                                                                          bool& more);

// All pairs whose keys begin with `prefix`. Of up to five hundred the answer is of one moment.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> ReadOmapPrefix(
    const CephPool& pool, const std::string& object, const std::string& prefix);

// One atomic operation: nothing is changed unless every guard holds.
struct OmapChange {
  std::map<std::string, std::string> guards;  // key -> present value; empty: there is no such key
  std::map<std::string, std::string> values;  // to be set
  std::vector<std::string> removals;
  ClassCall call = {};      // which changes something
  bool must_exist = false;  // the object; it is made otherwise. ENOENT if it does not
};

// The error of the result is ECANCELED if a guard did not hold, or that of the class.
[[nodiscard]] CallResult ChangeOmap(const CephPool& pool, const std::string& object,
                                    const OmapChange& change, const std::string& what);

}  // namespace holdfast::rbd
