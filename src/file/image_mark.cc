// SPDX-License-Identifier: Apache-2.0
#include "file/image_mark.h"

#include <sys/xattr.h>

#include <array>
#include <cerrno>

#include "os/file.h"

namespace holdfast::file {
namespace {

// The filesystem keeps no such attributes, keeps none from us, or has no room for another.
bool IsWithoutMarks(int error) {
  return error == ENOTSUP || error == EPERM || error == ENOSYS || error == ENOSPC ||
         error == EDQUOT || error == E2BIG || error == ERANGE;
}

}  // namespace

absl::StatusOr<bool> WriteMark(int image_fd, const char* name, std::string_view text) {
  if (::fsetxattr(image_fd, name, text.data(), text.size(), 0) == 0) {
    RETURN_IF_ERROR(os::Sync(image_fd, "image"));
    return true;
  }
  if (IsWithoutMarks(errno)) return false;
  return OsError(errno, fmt::format("cannot set the image's attribute {}", name));
}

absl::StatusOr<std::string> ReadMark(int image_fd, const char* name) {
  std::array<char, 256> value{};
  const ssize_t size = ::fgetxattr(image_fd, name, value.data(), value.size());
  if (size >= 0) return std::string(value.data(), static_cast<std::size_t>(size));
  if (errno == ENODATA || (IsWithoutMarks(errno) && errno != ERANGE)) return std::string();
  return OsError(errno, fmt::format("cannot read the image's attribute {}", name));
}

}  // namespace holdfast::file
