// SPDX-License-Identifier: Apache-2.0
// Removing images in time that is bounded.
//
// librbd removes an image in one call, which takes as long as it has objects, and for ever when
// another client removes the same image meanwhile (seen in 16.2). So each removal has a thread of
// its own: a call waits for it as long as a CO waits for the call, and a repeated call goes on
// waiting for the same one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

// Thread-safe. Removals that are still under way when this ends go on until the process ends.
class ImageRemovals final {
 public:
  // Removes the image. OK if there is none; UNAVAILABLE while a client has it open, and while it is
  // still being removed; otherwise as Cluster::Try.
  [[nodiscard]] absl::Status Remove(const CephPool& pool, const std::string& name);

 private:
  struct Removal;
  [[nodiscard]] std::shared_ptr<Removal> Join(const CephPool& pool, const std::string& name);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Removal>> removals_;  // by image; guarded by mutex_
};

}  // namespace holdfast::rbd
