// SPDX-License-Identifier: Apache-2.0
#include "os/file_flags.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::os {
namespace {

// 0, or the errno value of the failure.
int AddFlag(int file_fd, int flag) {
  int flags = 0;
  if (::ioctl(file_fd, FS_IOC_GETFLAGS, &flags) != 0) return errno;
  flags |= flag;
  return ::ioctl(file_fd, FS_IOC_SETFLAGS, &flags) == 0 ? 0 : errno;
}

absl::StatusOr<bool> IsOnBtrfs(int file_fd) {
  struct statfs facts {};
  if (::fstatfs(file_fd, &facts) != 0) return OsError(errno, "statfs of a file");
  return facts.f_type == BTRFS_SUPER_MAGIC;
}

constexpr std::size_t kPerCall = 128;

}  // namespace

absl::StatusOr<bool> IsCopiedOnWrite(int file_fd) {
  ASSIGN_OR_RETURN(const bool on_btrfs, IsOnBtrfs(file_fd));
  if (!on_btrfs) return false;
  int flags = 0;
  if (::ioctl(file_fd, FS_IOC_GETFLAGS, &flags) != 0) return OsError(errno, "read file flags");
  return (flags & FS_NOCOW_FL) == 0;
}

absl::Status DisableCopyOnWrite(int file_fd) {
  ASSIGN_OR_RETURN(const bool on_btrfs, IsOnBtrfs(file_fd));
  if (!on_btrfs) return absl::OkStatus();
  const int error = AddFlag(file_fd, FS_NOCOW_FL);
  return error == 0 ? absl::OkStatus() : OsError(error, "set file flag NOCOW");
}

absl::Status MakeWritesSynchronous(int file_fd) {
  const int error = AddFlag(file_fd, FS_SYNC_FL);
  // A filesystem can have file flags (tmpfs since Linux 6.6) without having this one.
  if (error == 0 || error == ENOTTY || error == EOPNOTSUPP) return absl::OkStatus();
  return OsError(error, "set file flag SYNC");
}

absl::StatusOr<bool> SharesExtents(int file_fd, std::size_t limit) {
  // The kernel puts the extents right after the header.
  alignas(fiemap) std::array<char, sizeof(fiemap) + kPerCall * sizeof(fiemap_extent)> buffer{};
  auto* const head = reinterpret_cast<fiemap*>(buffer.data());
  for (std::size_t seen = 0; seen < limit;) {
    head->fm_length = FIEMAP_MAX_OFFSET - head->fm_start;
    head->fm_extent_count = static_cast<std::uint32_t>(std::min(kPerCall, limit - seen));
    if (::ioctl(file_fd, FS_IOC_FIEMAP, head) != 0) {
      if (errno == EOPNOTSUPP || errno == ENOTTY) return false;
      return OsError(errno, "cannot read the extents of a file");
    }
    if (head->fm_mapped_extents == 0) return false;
    fiemap_extent extent{};
    for (std::size_t i = 0; i < head->fm_mapped_extents; ++i) {
      std::memcpy(&extent, buffer.data() + sizeof(fiemap) + i * sizeof(extent), sizeof(extent));
      if ((extent.fe_flags & FIEMAP_EXTENT_SHARED) != 0) return true;
      if ((extent.fe_flags & FIEMAP_EXTENT_LAST) != 0) return false;
    }
    seen += head->fm_mapped_extents;
    head->fm_start = extent.fe_logical + extent.fe_length;
  }
  return false;
}

}  // namespace holdfast::os
