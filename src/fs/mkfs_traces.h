// SPDX-License-Identifier: Apache-2.0
// Telling what an interrupted mkfs left from a filesystem that was used.
#pragma once

#include <string>

#include "os/block_device.h"

namespace holdfast::fs {

// True if the bytes prove that the filesystem `type` ("ext4", "xfs", ...), which was recognised on
// the unmounted device, was never written to by a kernel that had mounted it: mkfs alone did so,
// whether or not it came to its end. False whenever in doubt, so a filesystem that is never mounted
// may be called used, but no used one the contrary. INTERNAL when the device cannot be read. Never
// writes.
[[nodiscard]] absl::StatusOr<bool> IsOfMkfsAlone(const os::BlockDevice& device,
                                                 const std::string& type);

}  // namespace holdfast::fs
