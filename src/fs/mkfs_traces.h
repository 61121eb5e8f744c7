// SPDX-License-Identifier: Apache-2.0
// Distinguishes the result of an interrupted mkfs from a filesystem that was used.
#pragma once

#include <string>

#include "os/block_device.h"

namespace holdfast::fs {

// True if the bytes prove that the filesystem `type` ("ext4", "xfs", ...), which was recognised on
// the unmounted device, was never written to by a kernel that had mounted it, only by mkfs,
// finished or not. False when in doubt: a filesystem that was never mounted may count as used, but
// a used one never as unused. INTERNAL when the device cannot be read. Never writes.
[[nodiscard]] absl::StatusOr<bool> IsOfMkfsAlone(const os::BlockDevice& device,
                                                 const std::string& type);

}  // namespace holdfast::fs
