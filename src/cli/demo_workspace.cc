// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_workspace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <ranges>

#include "os/file.h"
#include "os/loop_device.h"
#include "os/mount_table.h"
#include "os/mounter.h"
#include "os/request_path.h"

namespace holdfast::cli {
namespace {

absl::Status EnterPrivateMounts() {
  if (::unshare(CLONE_NEWNS) != 0) return OsError(errno, "make a mount name space");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return OsError(errno, "keep mounts from reaching the host");
  }
  return absl::OkStatus();
}

// Without symbolic links, which no CSI path may have.
absl::StatusOr<std::string> TemporaryRoot() {
  const char* const wanted = std::getenv("TMPDIR");
  const std::string path = wanted == nullptr || *wanted == '\0' ? "/var/tmp" : wanted;
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error);
  if (error) return OsError(error.value(), fmt::format("find temporary directory '{}'", path));
  return real;
}

absl::StatusOr<int> UnmountBelow(const std::string& path) {
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  int count = 0;
  for (const os::MountEntry& mount : mounts.entries() | std::views::reverse) {
    if (!mount.target.starts_with(path + "/")) continue;
    ASSIGN_OR_RETURN(const os::RequestPath target, os::RequestPath::Open(mount.target, "mount"));
    RETURN_IF_ERROR(os::Unmount(target));
    ++count;
  }
  return count;
}

// Whether a loop device had to be detached.
absl::StatusOr<bool> DetachFile(int directory_fd, const std::string& name) {
  const os::UniqueFd file(::openat(directory_fd, name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return OsError(errno, fmt::format("open '{}'", name));
  // Whatever its label: no other program knows this directory.
  ASSIGN_OR_RETURN(const os::LoopsOfImage loops, os::FindLoops(file.get(), ""));
  const std::optional<os::LoopDevice>& loop = loops.own ? loops.own : loops.other;
  if (!loop) return false;
  RETURN_IF_ERROR(os::DetachLoop(*loop));
  return true;
}

// Empties a directory of ours: files and directories of the one filesystem that it is on, no link
// followed, and no file taken away that is still a device. Returns the loop devices detached.
absl::StatusOr<int> Empty(int directory_fd, dev_t filesystem) {
  int loops = 0;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, os::ListDirectory(directory_fd));
  for (const std::string& name : names) {
    struct stat facts {};
    if (::fstatat(directory_fd, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      return OsError(errno, fmt::format("look at '{}'", name));
    }
    if (S_ISDIR(facts.st_mode)) {
      if (facts.st_dev != filesystem) return FailedPrecondition("'{}' is still mounted", name);
      ASSIGN_OR_RETURN(const os::UniqueFd inner, os::OpenDirectoryAt(directory_fd, name));
      ASSIGN_OR_RETURN(const int detached, Empty(inner.get(), filesystem));
      loops += detached;
      RETURN_IF_ERROR(os::RemoveEmptyDirectoryAt(directory_fd, name));
      continue;
    }
    if (S_ISREG(facts.st_mode) && facts.st_size > 0) {
      ASSIGN_OR_RETURN(const bool detached, DetachFile(directory_fd, name));
      loops += detached ? 1 : 0;
    }
    RETURN_IF_ERROR(os::RemoveFileAt(directory_fd, name));
  }
  return loops;
}

}  // namespace

absl::StatusOr<DemoWorkspace> DemoWorkspace::Make() {
  RETURN_IF_ERROR(EnterPrivateMounts());
  ASSIGN_OR_RETURN(std::string path, TemporaryRoot());
  path += "/holdfast-demo-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return OsError(errno, fmt::format("make '{}'", path));
  DemoWorkspace workspace(path);
  for (const std::string& directory : {workspace.pool(), workspace.staging()}) {
    if (::mkdir(directory.c_str(), 0700) == 0) continue;
    const int error = errno;
    RETURN_IF_ERROR(workspace.Remove().status());
    return OsError(error, fmt::format("make '{}'", directory));
  }
  return workspace;
}

absl::StatusOr<DemoWorkspace::Remains> DemoWorkspace::Remove() const {
  Remains remains;
  ASSIGN_OR_RETURN(remains.mounts, UnmountBelow(path_));
  ASSIGN_OR_RETURN(const os::UniqueFd root, os::OpenDirectory(path_));
  struct stat facts {};
  if (::fstat(root.get(), &facts) != 0) return OsError(errno, fmt::format("look at '{}'", path_));
  ASSIGN_OR_RETURN(remains.loop_devices, Empty(root.get(), facts.st_dev));
  if (remains.loop_devices > 0) os::RetireIdleLoops();
  if (::rmdir(path_.c_str()) != 0) return OsError(errno, fmt::format("remove '{}'", path_));
  return remains;
}

}  // namespace holdfast::cli
