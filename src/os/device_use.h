// SPDX-License-Identifier: Apache-2.0
// Whether a block device is in use: mounted, claimed, or published as a raw block volume.
#pragma once

#include <string>

#include "core/status.h"
#include "os/block_device.h"

namespace holdfast::os {

// OK when no filesystem of the device and no bind of its node is mounted in this name space, and no
// program on the host holds the device exclusively (a mount in another name space, device-mapper, a
// second loop). FAILED_PRECONDITION names the mount point or the claim. Does not detect a process
// that merely has the node open; detaching a loop device does.
[[nodiscard]] absl::Status RequireUnused(const BlockDevice& device);

// Only the second check: OK when no program on the host holds the device exclusively. Does not read
// the mount table.
[[nodiscard]] absl::Status RequireUnclaimed(const BlockDevice& device);

// The device nodes that are bind-mounted somewhere (published to a pod as raw block): a snapshot of
// the mounts of this process's name space. Immutable, so thread-safe.
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
