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

// An identity that survives reboots and remounts and differs between filesystems: "xfs:<uuid>",
// "btrfs:<uuid>", "ext:<fsid>" (made from the UUID by the kernel); only the type ("tmpfs", "nfs",
// "type-1badface") where the filesystem has none.
[[nodiscard]] absl::StatusOr<std::string> FilesystemIdentity(int fd);

// The best way to attach images below a directory to loop devices.
struct DirectIoSupport {
  bool direct_io = false;
  std::uint32_t sector_size = 512;  // smallest logical sector that direct I/O works with, or 512
};

// Tests an unnamed temporary file in the directory: asks the kernel (statx(2), STATX_DIOALIGN,
// Linux 6.1), and otherwise tries direct reads of 512 bytes, then of 4096. No direct I/O where the
// filesystem has no unnamed files; direct I/O with 4096 where the disk is too full for the test.
[[nodiscard]] absl::StatusOr<DirectIoSupport> ProbeDirectIo(int directory_fd);

// Whether files below the directory can share blocks (FICLONE, ioctl_ficlone(2): xfs made with
// reflink=1, btrfs). Tries it on two unnamed temporary files; false also where that is impossible.
[[nodiscard]] bool CanShareBlocks(int directory_fd);

}  // namespace holdfast::os
