// SPDX-License-Identifier: Apache-2.0
#include "os/freeze.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "os/file.h"

namespace holdfast::os {

absl::Status FlushByFreezing(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd root, OpenDirectory(path));
  if (::ioctl(root.get(), FIFREEZE, 0) != 0) {
    if (errno == EBUSY) {
      return FailedPrecondition("the filesystem at '{}' is frozen by another program", path);
    }
    return OsError(errno, fmt::format("freeze the filesystem at '{}'", path));
  }
  if (::ioctl(root.get(), FITHAW, 0) == 0) return absl::OkStatus();
  return OsError(errno, fmt::format("thaw the filesystem at '{}'", path));
}

absl::Status Thaw(const std::string& path) {
  const auto root = OpenDirectory(path);
  if (absl::IsNotFound(root.status())) return absl::OkStatus();
  RETURN_IF_ERROR(root.status());
  return Annotate(Thaw(root->get()), fmt::format("the filesystem at '{}'", path));
}

absl::Status Thaw(int directory_fd) {
  // EINVAL: not frozen, ioctl_fsfreeze; EOPNOTSUPP, ENOTTY: a filesystem that cannot be.
  if (::ioctl(directory_fd, FITHAW, 0) == 0) return absl::OkStatus();
  if (errno == EINVAL || errno == EOPNOTSUPP || errno == ENOTTY) return absl::OkStatus();
  return OsError(errno, "cannot thaw");
}

}  // namespace holdfast::os
