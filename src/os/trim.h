// SPDX-License-Identifier: Apache-2.0
// Giving back a mounted filesystem's free space (FITRIM, as fstrim(8) does).
//
// The kernel tells the device which blocks hold nothing; the storage of a thin volume then frees
// them. Nothing is written to the filesystem, so neither a freeze nor a full filesystem is in the
// way (ext4_trim_fs, xfs_ioc_trim, btrfs_trim_fs; tried with Linux 6.18). A kill ends it early and
// leaves nothing behind.
#pragma once

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast::os {

// Trims the free space from `begin` to `end`, addresses of the filesystem that the open directory
// is on; returns how much that was, as the filesystem counts it: some count what was given back
// before. btrfs trims all space that belongs to no chunk as well, which it remembers until it is
// unmounted. UNIMPLEMENTED where nothing can be trimmed: the device takes no discards, or the
// filesystem has no such call or may not write. OUT_OF_RANGE if it ends before `begin`, or the
// range is smaller than a block. Needs CAP_SYS_ADMIN.
[[nodiscard]] absl::StatusOr<Bytes> TrimFreeSpace(int directory_fd, Bytes begin, Bytes end);

}  // namespace holdfast::os
