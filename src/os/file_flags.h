// SPDX-License-Identifier: Apache-2.0
// How the filesystem stores one file: the attributes that change how it is written (chattr(1)), and
// whether it shares blocks with others after a reflink copy (xfs, btrfs) or a snapshot (btrfs).
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

// True if one of the first `limit` extents of the file is shared (FIEMAP_EXTENT_SHARED, FIEMAP in
// Documentation/filesystems/fiemap.rst). False on filesystems that share nothing or have no FIEMAP.
// Reads nothing but the map itself: about 0.1 us per extent on xfs, about 10 us on btrfs, which
// searches for each extent's other users. INTERNAL when the map cannot be read.
[[nodiscard]] absl::StatusOr<bool> SharesExtents(int file_fd, std::size_t limit);

}  // namespace holdfast::os
