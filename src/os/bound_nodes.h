// SPDX-License-Identifier: Apache-2.0
// Which device nodes are bind-mounted somewhere: published to a pod as raw block.
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast::os {

// A snapshot of the mounts of this process's name space. Immutable, so thread-safe.
class BoundNodes final {
 public:
  // Reads mountinfo and leaves it at that: a fraction of what MountTable::Read costs. INTERNAL if
  // it cannot be read.
  [[nodiscard]] static absl::StatusOr<BoundNodes> Read();
  // From text in mountinfo's format (proc(5)), for tests.
  explicit BoundNodes(std::string mountinfo) : text_(std::move(mountinfo)) {}

  // Whether a node of this name ("loop3"), also one that has been unlinked, is mounted anywhere.
  // True as well for other things of that name: to be asked about devices that are not in use, of
  // which nothing else has reason to be mounted.
  [[nodiscard]] bool Has(const std::string& name) const;

 private:
  std::string text_;
};

}  // namespace holdfast::os
