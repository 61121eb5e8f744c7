// SPDX-License-Identifier: Apache-2.0
#include "os/copy_on_write.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <cerrno>

namespace holdfast::os {

absl::Status DisableCopyOnWrite(int file_fd) {
  struct statfs facts {};
  if (::fstatfs(file_fd, &facts) != 0) return OsError(errno, "statfs of a new file");
  if (facts.f_type != BTRFS_SUPER_MAGIC) return absl::OkStatus();
  int flags = 0;
  if (::ioctl(file_fd, FS_IOC_GETFLAGS, &flags) != 0) return OsError(errno, "read file flags");
  flags |= FS_NOCOW_FL;
  if (::ioctl(file_fd, FS_IOC_SETFLAGS, &flags) != 0) return OsError(errno, "set file flag NOCOW");
  return absl::OkStatus();
}

}  // namespace holdfast::os
