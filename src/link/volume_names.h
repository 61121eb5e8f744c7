// SPDX-License-Identifier: Apache-2.0
// Where a volume of a name is, or may be: so that a repeated creation finds what it made.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "proto/link.pb.h"

namespace holdfast::link {

// Thread-safe.
class VolumeNames final {
 public:
  // The node that has it, or was told to make it and has not answered; empty if none is known.
  [[nodiscard]] std::string NodeOf(const std::string& volume_name) const;

  // What a node says that it has.
  void Learn(const v1::Register& message);

  // Before a creation is sent there; when it was refused; when it was made; when it was deleted.
  void CreationStarts(const std::string& volume_name, const std::string& node);
  void CreationFailed(const std::string& volume_name);
  void Created(const std::string& volume_id, const std::string& volume_name);
  void Deleted(const std::string& volume_id);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> node_of_name_;  // guarded by mutex_
  std::unordered_map<std::string, std::string> name_of_id_;    // guarded by mutex_
};

}  // namespace holdfast::link
