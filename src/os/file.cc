// SPDX-License-Identifier: Apache-2.0
#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace holdfast::os {
namespace {

constexpr mode_t kFileMode = 0600;
// A kill takes effect between pages: content that fits into one page is written whole or not at
// all.
constexpr std::size_t kPage = 4096;

// The error of an operation that needs space: blocks, an inode, quota.
absl::Status WriteError(int error_number, std::string_view what) {
  const absl::Status status = OsError(error_number, what);
  const bool full = error_number == ENOSPC || error_number == EDQUOT;
  return full ? WithCode(status, absl::StatusCode::kResourceExhausted) : status;
}

// For messages.
std::string PathBelow(int directory_fd, const std::string& name) {
  std::error_code error;
  const auto path =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", directory_fd), error);
  return error ? name : (path / name).string();
}

absl::Status OtherFilesystem(int directory_fd, const std::string& name) {
  return FailedPrecondition(
      "'{}' is another filesystem than the directory above it (a mount point, or a subvolume of "
      "btrfs): unmount it, or put a plain directory or file in its place",
      PathBelow(directory_fd, name));
}

// open(2) of `name` that crosses no mount point; on failure the result is invalid and errno is set.
UniqueFd OpenOnSameMount(int directory_fd, const std::string& name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_NO_XDEV;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, directory_fd, name.c_str(), &how, sizeof(how))));
}

// Writes all of `content`; 0 or the errno value.
int WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Makes `name` again, with its final mode.
UniqueFd MakeFile(int directory_fd, const std::string& name) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  int fd = ::openat(directory_fd, name.c_str(), kFlags, kFileMode);
  if (fd < 0 && errno == EEXIST && ::unlinkat(directory_fd, name.c_str(), 0) == 0) {
    fd = ::openat(directory_fd, name.c_str(), kFlags, kFileMode);
  }
  return UniqueFd(fd);
}

absl::Status WriteTemporary(int directory_fd, const std::string& name, std::string_view content,
                            bool durable) {
  const UniqueFd file = MakeFile(directory_fd, name);
  if (!file.valid()) return WriteError(errno, fmt::format("cannot create file '{}'", name));
  if (const int error = WriteAll(file.get(), content); error != 0) {
    return WriteError(error, fmt::format("cannot write file '{}'", name));
  }
  return durable ? Sync(file.get(), name) : absl::OkStatus();
}

absl::Status Replace(int directory_fd, const std::string& name, std::string_view content,
                     bool durable) {
  const std::string temporary = name + ".tmp";
  absl::Status status = WriteTemporary(directory_fd, temporary, content, durable);
  if (status.ok() && ::renameat(directory_fd, temporary.c_str(), directory_fd, name.c_str()) != 0) {
    status = WriteError(errno, fmt::format("cannot rename file '{}' to '{}'", temporary, name));
  }
  if (!status.ok()) {
    ::unlinkat(directory_fd, temporary.c_str(), 0);
    return status;
  }
  return durable ? Sync(directory_fd, fmt::format("directory of '{}'", name)) : absl::OkStatus();
}

// True if the file was overwritten; false, with nothing done, if it is longer than a page. The rest
// of a file that is longer than `content` becomes newlines.
absl::StatusOr<bool> Overwrite(int directory_fd, const std::string& name, std::string content) {
  const UniqueFd file(
      ::openat(directory_fd, name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file.valid()) return WriteError(errno, fmt::format("cannot open file '{}'", name));
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) {
    return OsError(errno, fmt::format("cannot stat file '{}'", name));
  }
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size > kPage) return false;
  content.resize(std::max(content.size(), size), '\n');
  const int error = WriteAll(file.get(), content);
  if (error != 0) return WriteError(error, fmt::format("cannot write '{}'", name));
  return true;
}

absl::Status Remove(int directory_fd, const std::string& name, int flags, std::string_view kind) {
  if (::unlinkat(directory_fd, name.c_str(), flags) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return OsError(errno, fmt::format("cannot remove {} '{}'", kind, name));
}

absl::StatusOr<UniqueFd> Opened(UniqueFd opened, std::string_view kind, const std::string& name) {
  if (opened.valid()) return opened;
  if (errno == ENOENT) return NotFound("there is no {} '{}'", kind, name);
  return OsError(errno, fmt::format("cannot open {} '{}'", kind, name));
}

absl::StatusOr<dev_t> DeviceOf(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return OsError(errno, "cannot stat a directory");
  return facts.st_dev;
}

}  // namespace

absl::StatusOr<UniqueFd> OpenDirectory(const std::string& path) {
  return Opened(UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), "directory",
                path);
}

absl::StatusOr<UniqueFd> OpenDirectoryAt(int directory_fd, const std::string& name) {
  UniqueFd directory = OpenOnSameMount(directory_fd, name, O_RDONLY | O_DIRECTORY);
  if (!directory.valid() && errno == EXDEV) return OtherFilesystem(directory_fd, name);
  if (!directory.valid()) return Opened(std::move(directory), "directory", name);
  // A subvolume of btrfs is not a mount point.
  ASSIGN_OR_RETURN(const dev_t above, DeviceOf(directory_fd));
  ASSIGN_OR_RETURN(const dev_t here, DeviceOf(directory.get()));
  if (above != here) return OtherFilesystem(directory_fd, name);
  return directory;
}

absl::StatusOr<UniqueFd> OpenFileAt(int directory_fd, const std::string& name, int flags) {
  UniqueFd file = OpenOnSameMount(directory_fd, name, flags);
  if (!file.valid() && errno == EXDEV) return OtherFilesystem(directory_fd, name);
  return Opened(std::move(file), "file", name);
}

absl::Status MakeDirectoryAt(int directory_fd, const std::string& name, int mode) {
  const auto permissions = static_cast<mode_t>(mode);
  const bool made = ::mkdirat(directory_fd, name.c_str(), permissions) == 0;
  if (!made && errno != EEXIST) {
    return WriteError(errno, fmt::format("cannot make directory '{}'", name));
  }
  ASSIGN_OR_RETURN(const UniqueFd directory, OpenDirectoryAt(directory_fd, name));
  // mkdirat applies the umask to the mode.
  if (made && ::fchmod(directory.get(), permissions) != 0) {
    return OsError(errno, fmt::format("cannot set the mode of directory '{}'", name));
  }
  return absl::OkStatus();
}

bool ExistsAt(int directory_fd, const std::string& name) {
  return ::faccessat(directory_fd, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

absl::StatusOr<std::vector<std::string>> ListDirectory(int directory_fd) {
  // A new open file description: a duplicate would share the caller's read position.
  const int fd = ::openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return OsError(errno, "cannot open a directory to list it");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), ::closedir);
  if (stream == nullptr) {
    const int error = errno;
    ::close(fd);
    return OsError(error, "cannot list a directory");
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return OsError(errno, "cannot read a directory");
  std::ranges::sort(names);
  return names;
}

absl::StatusOr<std::string> ReadFileAt(int directory_fd, const std::string& name,
                                       std::size_t max_size) {
  // O_NONBLOCK: opening a FIFO of that name must not wait for a writer.
  const UniqueFd file(
      ::openat(directory_fd, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return NotFound("there is no file '{}'", name);
  if (!file.valid()) return OsError(errno, fmt::format("cannot open file '{}'", name));
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) {
    return OsError(errno, fmt::format("cannot stat file '{}'", name));
  }
  if (!S_ISREG(facts.st_mode)) return Internal("'{}' is not a regular file", name);

  std::string content;
  char buffer[4096];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return OsError(errno, fmt::format("cannot read file '{}'", name));
    if (count == 0) return content;
    content.append(buffer, static_cast<std::size_t>(count));
    if (content.size() > max_size) {
      return Internal("file '{}' is longer than the {} bytes expected", name, max_size);
    }
  }
}

absl::Status WriteFileDurably(int directory_fd, const std::string& name, std::string_view content) {
  return Replace(directory_fd, name, content, /*durable=*/true);
}

absl::Status ReplaceFile(int directory_fd, const std::string& name, std::string_view content) {
  // Overwriting creates and removes no file, which is most of the cost of replacing one; but a file
  // longer than a page would be overwritten in several steps.
  if (content.size() <= kPage) {
    ASSIGN_OR_RETURN(const bool overwritten, Overwrite(directory_fd, name, std::string(content)));
    if (overwritten) return absl::OkStatus();
  }
  return Replace(directory_fd, name, content, /*durable=*/false);
}

absl::Status Sync(int fd, std::string_view what) {
  if (::fsync(fd) == 0) return absl::OkStatus();
  return OsError(errno, fmt::format("cannot sync '{}'", what));
}

absl::Status RemoveFileAt(int directory_fd, const std::string& name) {
  return Remove(directory_fd, name, 0, "file");
}

absl::Status RemoveEmptyDirectoryAt(int directory_fd, const std::string& name) {
  return Remove(directory_fd, name, AT_REMOVEDIR, "directory");
}

absl::StatusOr<UniqueFd> LockFileAt(int directory_fd, const std::string& name) {
  UniqueFd file(
      ::openat(directory_fd, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file.valid()) return OsError(errno, fmt::format("cannot open lock file '{}'", name));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK) {
    return FailedPrecondition("lock file '{}' is held by another process; stop that one first",
                              name);
  }
  return OsError(errno, fmt::format("cannot lock file '{}'", name));
}

absl::StatusOr<UniqueFd> LockDirectory(int directory_fd, const std::string& name) {
  if (::flock(directory_fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return FailedPrecondition(
          "the lock on the directory is held by another process; stop that one first");
    }
    // NFS implements flock as a byte-range lock, which needs a file that is open for writing.
    if (errno != EBADF && errno != EOPNOTSUPP && errno != ENOLCK) {
      return OsError(errno, "cannot lock the directory");
    }
  }
  return LockFileAt(directory_fd, name);
}

}  // namespace holdfast::os
