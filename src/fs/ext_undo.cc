// SPDX-License-Identifier: Apache-2.0
#include "fs/ext_undo.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/log.h"
#include "fs/ext_superblock.h"
#include "fs/format_programs.h"
#include "os/file.h"

namespace holdfast::fs {
namespace {

// The undo file once it is being used: from then on it has to be used to its end.
std::string UsedPath(const std::string& undo_path) { return undo_path + ".used"; }

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

absl::Status RemoveDurably(const std::string& path) {
  const std::filesystem::path file(path);
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectory(file.parent_path()));
  RETURN_IF_ERROR(os::RemoveFileAt(directory.get(), file.filename()));
  return os::Sync(directory.get(), file.parent_path().string());
}

// Whether the file tells how the device came to be as it is. e2undo compares the superblock with
// what it was at the last write to the file; it cannot when a kill came between two writes to the
// superblock itself, which nobody has repaired then.
absl::StatusOr<bool> Applies(const os::BlockDevice& device, const std::string& undo_path) {
  if (!ReadExtSuperblock(device, Mounted::kNo).ok()) return true;
  ASSIGN_OR_RETURN(const os::CommandResult result,
                   RunMaintenance({"e2undo", "-n", undo_path, device.path}));
  return result.exit_code == 0;
}

}  // namespace

absl::StatusOr<os::CommandResult> RunWithUndo(const std::vector<std::string>& argv,
                                              const os::BlockDevice& device,
                                              const std::string& undo_path, int successes) {
  std::vector<std::string> words = argv;
  words.insert(words.begin() + 1, {"-z", undo_path});
  ASSIGN_OR_RETURN(os::CommandResult result, RunMaintenance(words));
  const bool failed = result.signal != 0 || (result.exit_code & ~successes) != 0;
  RETURN_IF_ERROR(failed ? UndoInterrupted(device, undo_path) : RemoveDurably(undo_path));
  return result;
}

absl::Status UndoInterrupted(const os::BlockDevice& device, const std::string& undo_path) {
  const std::string used = UsedPath(undo_path);
  if (!Exists(used)) {
    if (!Exists(undo_path)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool applies, Applies(device, undo_path));
    if (!applies) return RemoveDurably(undo_path);
    if (::rename(undo_path.c_str(), used.c_str()) != 0) {
      return OsError(errno, fmt::format("cannot rename '{}'", undo_path));
    }
  }
  LogInfo("{}: e2fsck or resize2fs did not come to its end; undoing what it did", device.path);
  // -f: after an interrupted e2undo the superblock is not what it compares with.
  ASSIGN_OR_RETURN(const os::CommandResult result,
                   RunMaintenance({"e2undo", "-f", used, device.path}));
  if (result.exit_code != 0) {
    return Internal(
        "e2undo of '{}' on {} failed with {}; if the filesystem has been repaired by hand, remove "
        "that file",
        used, device.path, DescribeEnd(result));
  }
  RETURN_IF_ERROR(os::FlushBlockDevice(device));
  return RemoveDurably(used);
}

}  // namespace holdfast::fs
