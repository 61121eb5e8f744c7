// SPDX-License-Identifier: Apache-2.0
// File attributes that change how the filesystem writes a file (chattr(1)).
#pragma once

#include <cstddef>

#include "core/status.h"

namespace holdfast::os {

// Marks an empty regular file NOCOW where the host filesystem copies on write and knows the flag
// (btrfs, chattr +C): it is overwritten in place. Does nothing elsewhere. INTERNAL when the flag
// cannot be set.
[[nodiscard]] absl::Status DisableCopyOnWrite(int file_fd);

// True if an overwrite of the file goes to another place than what it replaces: on btrfs, unless
// the file is NOCOW. False elsewhere. INTERNAL when it is unknown.
[[nodiscard]] absl::StatusOr<bool> IsCopiedOnWrite(int file_fd);

// Makes every write to the file, by any process, reach the disk before it returns (chattr +S). Does
// nothing on a filesystem without this flag; ext4, xfs and btrfs have it. INTERNAL when the flag
// cannot be set.
[[nodiscard]] absl::Status MakeWritesSynchronous(int file_fd);

}  // namespace holdfast::os
