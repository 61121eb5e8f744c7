// SPDX-License-Identifier: Apache-2.0
#include "os/trim.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cerrno>

namespace holdfast::os {

absl::StatusOr<Bytes> TrimFreeSpace(int directory_fd, Bytes begin, Bytes end) {
  fstrim_range range{};
  range.start = static_cast<std::uint64_t>(begin);
  range.len = static_cast<std::uint64_t>(end - begin);
  if (::ioctl(directory_fd, FITRIM, &range) == 0) return static_cast<Bytes>(range.len);
  switch (errno) {
    case EINVAL:
      return OutOfRange("the filesystem has nothing to trim from byte {} to {}", begin, end);
    case EOPNOTSUPP:
    case ENOTTY:
    case EROFS:
      return MakeStatus(absl::StatusCode::kUnimplemented, "its free space cannot be trimmed");
    default:
      return OsError(errno, fmt::format("cannot trim its bytes {} to {}", begin, end));
  }
}

}  // namespace holdfast::os
