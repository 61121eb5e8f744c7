// SPDX-License-Identifier: Apache-2.0
#include "os/freeze.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cerrno>

namespace holdfast::os {
namespace {

// A thaw that failed leaves all writers waiting, so it is tried again at once.
constexpr int kThaws = 3;

}  // namespace

absl::Status Freeze(int directory_fd) {
  if (::ioctl(directory_fd, FIFREEZE, 0) == 0) return absl::OkStatus();
  if (errno == EBUSY) return FailedPrecondition("it is frozen by another program");
  return OsError(errno, "cannot freeze it");
}

absl::Status Thaw(int directory_fd) { return EndFreeze(directory_fd).status(); }

absl::StatusOr<bool> EndFreeze(int directory_fd) {
  int error = 0;
  for (int attempt = 0; attempt < kThaws; ++attempt) {
    if (::ioctl(directory_fd, FITHAW, 0) == 0) return true;
    error = errno;
    // EINVAL: not frozen, ioctl_fsfreeze; EOPNOTSUPP, ENOTTY: a filesystem that cannot be.
    if (error == EINVAL || error == EOPNOTSUPP || error == ENOTTY) return false;
  }
  return OsError(error, "cannot thaw it");
}

absl::Status FlushByFreezing(int directory_fd) {
  RETURN_IF_ERROR(Freeze(directory_fd));
  return Thaw(directory_fd);
}

}  // namespace holdfast::os
