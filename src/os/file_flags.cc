// SPDX-License-Identifier: Apache-2.0
#include "os/file_flags.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <cerrno>

namespace holdfast::os {
namespace {

absl::Status AddFlag(int file_fd, int flag, const char* name) {
  int flags = 0;
  if (::ioctl(file_fd, FS_IOC_GETFLAGS, &flags) != 0) return OsError(errno, "read file flags");
  flags |= flag;
  if (::ioctl(file_fd, FS_IOC_SETFLAGS, &flags) == 0) return absl::OkStatus();
  return OsError(errno, fmt::format("set file flag {}", name));
}

}  // namespace

absl::Status DisableCopyOnWrite(int file_fd) {
  struct statfs facts {};
  if (::fstatfs(file_fd, &facts) != 0) return OsError(errno, "statfs of a new file");
  if (facts.f_type != BTRFS_SUPER_MAGIC) return absl::OkStatus();
  return AddFlag(file_fd, FS_NOCOW_FL, "NOCOW");
}

absl::Status MakeWritesSynchronous(int file_fd) {
  int flags = 0;
  const bool has_flags = ::ioctl(file_fd, FS_IOC_GETFLAGS, &flags) == 0;
  if (!has_flags && (errno == ENOTTY || errno == EOPNOTSUPP)) return absl::OkStatus();
  return AddFlag(file_fd, FS_SYNC_FL, "SYNC");
}

}  // namespace holdfast::os
