// SPDX-License-Identifier: Apache-2.0
// Whether a block device is in use.
#pragma once

#include "core/status.h"
#include "os/block_device.h"

namespace holdfast::os {

// OK when no filesystem of the device and no bind of its node is mounted in this name space, and no
// one anywhere holds the device exclusively (a mount in another name space, device-mapper, a second
// loop). FAILED_PRECONDITION names the mount point or the claim. A process that merely has the node
// open is not seen here; detaching a loop device finds it.
[[nodiscard]] absl::Status RequireUnused(const BlockDevice& device);

// The second half of it: OK when no one anywhere holds the device exclusively, without a look at
// the mounts.
[[nodiscard]] absl::Status RequireUnclaimed(const BlockDevice& device);

}  // namespace holdfast::os
