// SPDX-License-Identifier: Apache-2.0
#include "os/file_flags.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <cerrno>

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

}  // namespace holdfast::os
