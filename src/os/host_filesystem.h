// SPDX-License-Identifier: Apache-2.0
// The filesystem that carries a pool directory or a mounted volume: identity, space, abilities.
#pragma once

#include <cstdint>
#include <string>

#include "core/bytes.h"

namespace holdfast::os {

struct FilesystemSpace {
  Bytes total = 0;
  Bytes available = 0;  // to unprivileged users
  Bytes used = 0;
  std::int64_t inodes_total = 0;  // 0 where the filesystem does not count inodes (btrfs)
  std::int64_t inodes_available = 0;
  std::int64_t inodes_used = 0;
  bool read_only = false;
};

// statvfs of an open file or directory.
[[nodiscard]] absl::StatusOr<FilesystemSpace> MeasureFilesystem(int fd);

// A text that stays the same over reboots and remounts and differs between filesystems:
// "xfs:<uuid>", "btrfs:<uuid>", "ext:<fsid>" (made from the UUID by the kernel); only the type
// ("tmpfs", "nfs", "type-1badface") where there is no such thing.
[[nodiscard]] absl::StatusOr<std::string> FilesystemIdentity(int fd);

// How images below a directory are best attached to loop devices.
struct DirectIoSupport {
  bool direct_io = false;
  std::uint32_t sector_size = 512;  // smallest logical sector that direct I/O works with, or 512
};

// Finds out on an unnamed temporary file in the directory: by what the kernel states (statx(2),
// STATX_DIOALIGN, Linux 6.1), else by 512-byte direct reads, then 4096-byte ones. No direct I/O
// where there are no unnamed files; direct I/O with 4096 where the disk is too full to find out.
[[nodiscard]] absl::StatusOr<DirectIoSupport> ProbeDirectIo(int directory_fd);

}  // namespace holdfast::os
