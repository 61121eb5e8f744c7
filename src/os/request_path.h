// SPDX-License-Identifier: Apache-2.0
// A path that a request names: checked, and opened so that no other process can redirect it
// afterwards.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::os {

// INVALID_ARGUMENT naming `field` when `path` cannot be a path in normal form, judged by its text
// alone: see RequestPath::Open.
[[nodiscard]] absl::Status CheckPathText(const std::string& path, const std::string& field);

// The parent directory is held open; the last component is used by name below it and never followed
// if it is a symbolic link. No component of the whole path may be a symbolic link (openat2 with
// RESOLVE_NO_SYMLINKS, kernel 5.6), so a path means the same to us, to the caller and in mountinfo.
class RequestPath final {
 public:
  // INVALID_ARGUMENT naming `field` when `path` is not absolute, is "/", has empty, "." or ".."
  // components (one trailing slash is tolerated), a control character other than tab, is longer
  // than a path may be, or runs through a symbolic link or a file. NOT_FOUND when the parent
  // directory does not exist.
  [[nodiscard]] static absl::StatusOr<RequestPath> Open(const std::string& path,
                                                        const std::string& field);

  // The path in the normal form that mountinfo shows.
  [[nodiscard]] const std::string& path() const { return path_; }

  // A path that leads to the same place through the held parent, for calls that take only text.
  [[nodiscard]] std::string through_parent() const;

  // A text that is the same for all paths to this place, such as those of a directory that is
  // mounted twice, and different for all others.
  [[nodiscard]] std::string place() const;

  // Makes an empty directory (mode 0750) or regular file (mode 0600) there. OK if one of that kind
  // exists; FAILED_PRECONDITION if something of another kind does.
  [[nodiscard]] absl::Status MakeDirectory() const;
  [[nodiscard]] absl::Status MakeFile() const;

  // True if certainly nothing is mounted there. Costs one statx(2), while the cost of reading the
  // mount table grows with the mounts of the host. False also when the kernel cannot say (before
  // 5.8, or a filesystem that no longer answers).
  [[nodiscard]] bool HasNoMount() const;

  // Opens what is there (the root of the topmost mount, if it is a mount point) with O_PATH.
  // NOT_FOUND if nothing is, FAILED_PRECONDITION if it is a symbolic link. The descriptor keeps a
  // mount busy: close it before unmounting.
  [[nodiscard]] absl::StatusOr<UniqueFd> OpenHandle() const;

  // Removes an empty directory, or a file of length zero; OK if nothing is there.
  // FAILED_PRECONDITION when it is not empty, of another kind, or still a mount point: files that
  // we did not create are not ours to delete.
  [[nodiscard]] absl::Status RemoveIfEmpty() const;

 private:
  RequestPath(std::string path, UniqueFd parent, std::string name)
      : path_(std::move(path)), parent_(std::move(parent)), name_(std::move(name)) {}
  [[nodiscard]] absl::Status RequireKind(mode_t kind) const;

  std::string path_;
  UniqueFd parent_;
  std::string name_;
};

}  // namespace holdfast::os
