// SPDX-License-Identifier: Apache-2.0
// Small files and directories, relative to an open directory, so a directory that was verified
// cannot be swapped afterwards. All functions are thread-safe. Failures are INTERNAL unless stated
// otherwise, but RESOURCE_EXHAUSTED when blocks, inodes or quota run out during a write or
// creation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::os {

// Opens a directory by path, following symbolic links (for directories that the operator names).
// NOT_FOUND if there is none.
[[nodiscard]] absl::StatusOr<UniqueFd> OpenDirectory(const std::string& path);

// Opens the directory `name` below `directory_fd`, on the same filesystem; `name` itself must not
// be a symbolic link. NOT_FOUND if there is none. FAILED_PRECONDITION, naming the path, if it is a
// mount point or (btrfs) a subvolume: nothing could be renamed between it and the directory above,
// and what is below it depends on that other filesystem.
[[nodiscard]] absl::StatusOr<UniqueFd> OpenDirectoryAt(int directory_fd, const std::string& name);

// Opens the file `name` below `directory_fd`, which must not be a symbolic link, with open(2)'s
// `flags` (no O_CREAT). NOT_FOUND and FAILED_PRECONDITION as OpenDirectoryAt.
[[nodiscard]] absl::StatusOr<UniqueFd> OpenFileAt(int directory_fd, const std::string& name,
                                                  int flags);

// Creates the directory `name` below `directory_fd` with exactly `mode` unless it exists.
// FAILED_PRECONDITION as OpenDirectoryAt.
[[nodiscard]] absl::Status MakeDirectoryAt(int directory_fd, const std::string& name, int mode);

// True if there is something of that name, whatever it is. False also when that is unknown.
[[nodiscard]] bool ExistsAt(int directory_fd, const std::string& name);

// Names in the directory, without "." and "..", sorted.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ListDirectory(int directory_fd);

// The whole content of a regular file; `name` must not be a symbolic link.
// NOT_FOUND if there is none; INTERNAL if it is longer than `max_size` bytes.
[[nodiscard]] absl::StatusOr<std::string> ReadFileAt(int directory_fd, const std::string& name,
                                                     std::size_t max_size = 1 << 20);

// Replaces `name` by `content`, mode 0600: temporary file, fsync, rename, fsync of the directory.
// After OK the new content survives a power cut; after an error or a crash `name` is either old or
// new, never a mix. The temporary name is "<name>.tmp"; a left-over one is overwritten.
[[nodiscard]] absl::Status WriteFileDurably(int directory_fd, const std::string& name,
                                            std::string_view content);

// The same without an fsync, for facts that a reboot invalidates anyway: after a killed process
// `name` is either old or new, after a power cut its content is undefined. If the new content is
// shorter than the old one, newlines may follow it.
[[nodiscard]] absl::Status ReplaceFile(int directory_fd, const std::string& name,
                                       std::string_view content);

// fsync on an open file or directory; `what` names it in the error.
[[nodiscard]] absl::Status Sync(int fd, std::string_view what);

// unlinkat / rmdir; OK if `name` does not exist.
[[nodiscard]] absl::Status RemoveFileAt(int directory_fd, const std::string& name);
[[nodiscard]] absl::Status RemoveEmptyDirectoryAt(int directory_fd, const std::string& name);

// Takes an exclusive flock without waiting and holds it as long as the descriptor lives.
// FAILED_PRECONDITION when another process holds it. A missing `name` is created with mode 0600.
[[nodiscard]] absl::StatusOr<UniqueFd> LockFileAt(int directory_fd, const std::string& name);

// Takes an exclusive flock on the open directory itself, which stays effective when files below it
// are removed or replaced, and then LockFileAt, which processes of older versions respect. The
// directory stays locked as long as `directory_fd` lives, the file as long as the result. Where the
// filesystem cannot lock directories (NFS), only the file is locked. FAILED_PRECONDITION when
// either is held: by another process, or by this one.
[[nodiscard]] absl::StatusOr<UniqueFd> LockDirectory(int directory_fd, const std::string& name);

}  // namespace holdfast::os
