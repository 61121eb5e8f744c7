// SPDX-License-Identifier: Apache-2.0
#include "os/request_path.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace holdfast::os {
namespace {

constexpr mode_t kDirectoryMode = 0750;  // as kubelet makes its own
constexpr mode_t kTargetMode = 0600;

// glibc has no wrapper for openat2(2).
UniqueFd OpenWithoutSymlinks(int directory_fd, const std::string& path, unsigned int flags) {
  open_how how{};
  how.flags = flags | O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, directory_fd, path.c_str(), &how, sizeof(how))));
}

// The problem with the text of `path`, which begins with "/" and does not end in one; empty if
// there is none.
std::string_view FindMalformedComponent(std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view component = path.substr(0, path.find('/'));
    if (component.empty()) return "it has an empty component";
    if (component == "." || component == "..") return "it has a component '.' or '..'";
    if (component.size() > NAME_MAX) return "a component is longer than 255 bytes";
    path.remove_prefix(component.size());
  }
  return {};
}

// The path without its trailing slash.
absl::StatusOr<std::string> Normalize(const std::string& path, const std::string& field) {
  const auto is_banned = [](unsigned char byte) {
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  };
  if (std::ranges::any_of(path, is_banned)) {
    return InvalidArgument("{} must not contain a control character other than a tab", field);
  }
  if (path.size() >= PATH_MAX) {
    return InvalidArgument("{} is longer than {} bytes", field, PATH_MAX - 1);
  }
  if (!path.starts_with('/')) return InvalidArgument("{} '{}' is not absolute", field, path);
  std::string normal = path.substr(0, path.size() - (path.ends_with('/') ? 1 : 0));
  if (normal.empty()) return InvalidArgument("{} must not be '/'", field);
  const std::string_view malformed = FindMalformedComponent(normal);
  if (!malformed.empty()) {
    return InvalidArgument("{} '{}' is not in normal form: {}", field, path, malformed);
  }
  return normal;
}

absl::Status ParentError(int error_number, const std::string& path, const std::string& field) {
  switch (error_number) {
    case ENOENT:
      return NotFound("the parent directory of {} '{}' does not exist", field, path);
    case ENOTDIR:
      return InvalidArgument("{} '{}' leads through something that is not a directory", field,
                             path);
    case ELOOP:
      return InvalidArgument(
          "{} '{}' runs through a symbolic link; give the path that the link leads to", field,
          path);
    default:
      return OsError(error_number,
                     fmt::format("cannot open the parent directory of {} '{}'", field, path));
  }
}

std::string_view KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFREG:
      return "a file";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFBLK:
      return "a block device";
    default:
      return "something special";
  }
}

}  // namespace

absl::Status CheckPathText(const std::string& path, const std::string& field) {
  return Normalize(path, field).status();
}

absl::StatusOr<RequestPath> RequestPath::Open(const std::string& path, const std::string& field) {
  ASSIGN_OR_RETURN(std::string normal, Normalize(path, field));
  const std::size_t slash = normal.rfind('/');
  const std::string parent_path = slash == 0 ? "/" : normal.substr(0, slash);
  UniqueFd parent = OpenWithoutSymlinks(AT_FDCWD, parent_path, O_DIRECTORY);
  if (!parent.valid()) return ParentError(errno, normal, field);
  std::string name = normal.substr(slash + 1);
  return RequestPath(std::move(normal), std::move(parent), std::move(name));
}

std::string RequestPath::through_parent() const {
  return fmt::format("/proc/self/fd/{}/{}", parent_.get(), name_);
}

std::string RequestPath::place() const {
  struct stat parent {};
  if (::fstat(parent_.get(), &parent) != 0) return path_;
  return fmt::format("{}:{}/{}", parent.st_dev, parent.st_ino, name_);
}

absl::Status RequestPath::MakeDirectory() const {
  if (::mkdirat(parent_.get(), name_.c_str(), kDirectoryMode) == 0) return absl::OkStatus();
  if (errno == EEXIST) return RequireKind(S_IFDIR);
  return OsError(errno, fmt::format("cannot make directory '{}'", path_));
}

absl::Status RequestPath::MakeFile() const {
  const UniqueFd file(
      ::openat(parent_.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kTargetMode));
  if (file.valid()) return absl::OkStatus();
  if (errno == EEXIST) return RequireKind(S_IFREG);
  return OsError(errno, fmt::format("cannot make file '{}'", path_));
}

absl::Status RequestPath::RequireKind(mode_t kind) const {
  struct stat found {};
  if (::fstatat(parent_.get(), name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    return OsError(errno, fmt::format("cannot inspect '{}'", path_));
  }
  if ((found.st_mode & S_IFMT) == kind) return absl::OkStatus();
  return FailedPrecondition("'{}' should be {} but is {}; remove it", path_, KindOf(kind),
                            KindOf(found.st_mode));
}

bool RequestPath::HasNoMount() const {
  struct statx facts {};
  if (::statx(parent_.get(), name_.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE,
              &facts) != 0) {
    return errno == ENOENT;
  }
  return (facts.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 &&
         (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0;
}

absl::StatusOr<UniqueFd> RequestPath::OpenHandle() const {
  UniqueFd handle = OpenWithoutSymlinks(parent_.get(), name_, 0);
  if (handle.valid()) return handle;
  if (errno == ENOENT) return NotFound("'{}' does not exist", path_);
  if (errno == ELOOP) return FailedPrecondition("'{}' is a symbolic link; remove it", path_);
  return OsError(errno, fmt::format("cannot open '{}'", path_));
}

absl::Status RequestPath::RemoveIfEmpty() const {
  struct stat found {};
  if (::fstatat(parent_.get(), name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return OsError(errno, fmt::format("cannot inspect '{}'", path_));
  }
  const bool directory = S_ISDIR(found.st_mode);
  if (!directory && (!S_ISREG(found.st_mode) || found.st_size != 0)) {
    return FailedPrecondition(
        "'{}' is {} that is not ours to delete", path_,
        S_ISREG(found.st_mode) ? "a file with content" : KindOf(found.st_mode));
  }
  if (::unlinkat(parent_.get(), name_.c_str(), directory ? AT_REMOVEDIR : 0) == 0) {
    return absl::OkStatus();
  }
  switch (errno) {
    case ENOENT:
      return absl::OkStatus();
    case ENOTEMPTY:
    case EEXIST:  // rmdir(2): either says "not empty"
      return FailedPrecondition("'{}' is not empty; what is in it is not ours to delete", path_);
    case EBUSY:
      return FailedPrecondition("'{}' is still a mount point", path_);
    default:
      return OsError(errno, fmt::format("cannot remove '{}'", path_));
  }
}

}  // namespace holdfast::os
