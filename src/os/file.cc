// SPDX-License-Identifier: Apache-2.0
#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace holdfast::os {
namespace {

constexpr mode_t kFileMode = 0600;

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

// Makes or overwrites `name` with `content`, mode kFileMode.
absl::Status WriteFile(int directory_fd, const std::string& name, std::string_view content,
                       bool durable) {
  const UniqueFd file(::openat(directory_fd, name.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file.valid()) return OsError(errno, fmt::format("cannot create file '{}'", name));
  if (::fchmod(file.get(), kFileMode) != 0) {
    return OsError(errno, fmt::format("cannot set the mode of file '{}'", name));
  }
  if (const int error = WriteAll(file.get(), content); error != 0) {
    return OsError(error, fmt::format("cannot write file '{}'", name));
  }
  return durable ? Sync(file.get(), name) : absl::OkStatus();
}

// 0 or an errno. A file that need not be durable is exchanged with the one it replaces: ext4 writes
// a new file out at once when it is renamed over another one (auto_da_alloc), which takes
// milliseconds.
int RenameOver(int directory_fd, const char* temporary, const char* name, bool durable) {
  if (!durable && ::renameat2(directory_fd, temporary, directory_fd, name, RENAME_EXCHANGE) == 0) {
    if (::unlinkat(directory_fd, temporary, 0) == 0) return 0;
    const int error = errno;  // what had the name is no file: it gets its place back
    ::renameat2(directory_fd, temporary, directory_fd, name, RENAME_EXCHANGE);
    return error;
  }
  return ::renameat(directory_fd, temporary, directory_fd, name) == 0 ? 0 : errno;
}

absl::Status Replace(int directory_fd, const std::string& name, std::string_view content,
                     bool durable) {
  const std::string temporary = name + ".tmp";
  if (absl::Status status = WriteFile(directory_fd, temporary, content, durable); !status.ok()) {
    ::unlinkat(directory_fd, temporary.c_str(), 0);
    return status;
  }
  const int error = RenameOver(directory_fd, temporary.c_str(), name.c_str(), durable);
  if (error != 0) {
    ::unlinkat(directory_fd, temporary.c_str(), 0);
    return OsError(error, fmt::format("cannot rename file '{}' to '{}'", temporary, name));
  }
  return durable ? Sync(directory_fd, fmt::format("directory of '{}'", name)) : absl::OkStatus();
}

absl::Status Remove(int directory_fd, const std::string& name, int flags, std::string_view kind) {
  if (::unlinkat(directory_fd, name.c_str(), flags) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return OsError(errno, fmt::format("cannot remove {} '{}'", kind, name));
}

absl::StatusOr<UniqueFd> OpenDirectoryWith(int directory_fd, const std::string& name, int flags) {
  UniqueFd directory(
      ::openat(directory_fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  if (directory.valid()) return directory;
  if (errno == ENOENT) return NotFound("there is no directory '{}'", name);
  return OsError(errno, fmt::format("cannot open directory '{}'", name));
}

}  // namespace

absl::StatusOr<UniqueFd> OpenDirectory(const std::string& path) {
  return OpenDirectoryWith(AT_FDCWD, path, 0);
}

absl::StatusOr<UniqueFd> OpenDirectoryAt(int directory_fd, const std::string& name) {
  return OpenDirectoryWith(directory_fd, name, O_NOFOLLOW);
}

absl::Status MakeDirectoryAt(int directory_fd, const std::string& name, int mode) {
  const auto permissions = static_cast<mode_t>(mode);
  const bool made = ::mkdirat(directory_fd, name.c_str(), permissions) == 0;
  if (!made && errno != EEXIST) {
    return OsError(errno, fmt::format("cannot make directory '{}'", name));
  }
  ASSIGN_OR_RETURN(const UniqueFd directory, OpenDirectoryAt(directory_fd, name));
  // mkdirat takes the umask off the mode.
  if (made && ::fchmod(directory.get(), permissions) != 0) {
    return OsError(errno, fmt::format("cannot set the mode of directory '{}'", name));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListDirectory(int directory_fd) {
  // A description of its own, because a duplicate would share the caller's read position.
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

}  // namespace holdfast::os
