// SPDX-License-Identifier: Apache-2.0
// Detects files that share blocks with others, after a reflink copy (xfs, btrfs) or a snapshot
// (btrfs). Reads nothing but the map of extents (FIEMAP, Documentation/filesystems/fiemap.rst):
// about 0.1 us for each on xfs, about 10 us on btrfs, which searches for each extent's other users.
#pragma once

#include <cstddef>
#include <optional>

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast::os {

// Makes the empty file `copy_fd` share all blocks of the other one: its bytes at one instant
// (FICLONE, ioctl_ficlone(2)). UNIMPLEMENTED if their filesystem cannot do that (it is neither xfs
// made with reflink=1 nor btrfs); RESOURCE_EXHAUSTED without room, INTERNAL otherwise.
[[nodiscard]] absl::Status CloneFile(int source_fd, int copy_fd);

// True if one of the first `limit` extents of the file is shared (FIEMAP_EXTENT_SHARED). False on
// filesystems that share nothing or have no FIEMAP. INTERNAL when the map cannot be read.
[[nodiscard]] absl::StatusOr<bool> SharesExtents(int file_fd, std::size_t limit);

struct Extent {
  Bytes begin = 0;
  Bytes end = 0;
};

// The first shared extent that ends behind `begin`, from there on. Nothing if there is none;
// INTERNAL as above.
[[nodiscard]] absl::StatusOr<std::optional<Extent>> NextSharedExtent(int file_fd, Bytes begin);

// Gives this part of the file blocks of its own; programs may write to it meanwhile
// (FALLOC_FL_UNSHARE_RANGE, fallocate(2); xfs has it). UNIMPLEMENTED if the filesystem has not;
// RESOURCE_EXHAUSTED without room, INTERNAL otherwise.
[[nodiscard]] absl::Status UnshareExtent(int file_fd, const Extent& extent);

// How much xfs reserves around a shared block that gets a block of its own: kDefault is 128 KiB,
// which leaves files of many overwritten blocks less fragmented, and counts as the file's own for
// five minutes (cowextsize in xfs_io(8); speculative_cow_prealloc_lifetime in the kernel's
// Documentation/admin-guide/xfs.rst).
enum class CowReserve { kDefault, kNone };

// Of this file, durably; other filesystems reserve nothing. INTERNAL when it cannot be set.
[[nodiscard]] absl::Status SetCowReserve(int file_fd, CowReserve reserve);

// How many bytes of the file are in shared extents; 0 and INTERNAL as above.
[[nodiscard]] absl::StatusOr<Bytes> SharedBytes(int file_fd);

}  // namespace holdfast::os
