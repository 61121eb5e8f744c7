// SPDX-License-Identifier: Apache-2.0
// The device nodes that are bind-mounted somewhere: published to a pod as raw block.
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast::os {

// A snapshot of the mounts of this process's name space. Immutable, so thread-safe.
class BoundNodes final {
 public:
  // Reads mountinfo without parsing it, at a fraction of the cost of MountTable::Read. INTERNAL if
  // it cannot be read.
  [[nodiscard]] static absl::StatusOr<BoundNodes> Read();
  // From text in mountinfo's format (proc(5)), for tests.
  explicit BoundNodes(std::string mountinfo) : text_(std::move(mountinfo)) {}

  // Whether a node of this name ("loop3"), also one that has been unlinked, is mounted anywhere.
  // True also for unrelated files of that name, so ask only about devices that are not in use: no
  // other file with such a name should be mounted.
  [[nodiscard]] bool Has(const std::string& name) const;

 private:
  std::string text_;
};

}  // namespace holdfast::os
