// SPDX-License-Identifier: Apache-2.0
// Whether a block device is in use.
#pragma once

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

}  // namespace holdfast::os
