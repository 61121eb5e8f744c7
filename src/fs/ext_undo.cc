// SPDX-License-Identifier: Apache-2.0
#include "fs/ext_undo.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/log.h"
#include "fs/ext_superblock.h"
#include "fs/format_programs.h"
#include "os/file.h"
#include "os/file_flags.h"

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

// The programs take an empty file for none. They write to it what they are about to overwrite, so
// it must be on the disk before the device is written to; they do not see to that themselves.
absl::Status MakeUndoFile(const std::string& path) {
  const std::filesystem::path place(path);
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectory(place.parent_path()));
  const os::UniqueFd file(::openat(directory.get(), place.filename().c_str(),
                                   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return OsError(errno, fmt::format("make undo file '{}'", path));
  RETURN_IF_ERROR(Annotate(os::MakeWritesSynchronous(file.get()), path));
  RETURN_IF_ERROR(os::Sync(file.get(), path));
  return os::Sync(directory.get(), place.parent_path().string());
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
  RETURN_IF_ERROR(MakeUndoFile(undo_path));
  std::vector<std::string> words = argv;
  words.insert(words.begin() + 1, {"-z", undo_path});
  ASSIGN_OR_RETURN(os::CommandResult result, RunMaintenance(words));
  if (result.signal != 0 || (result.exit_code & ~successes) != 0) {
    RETURN_IF_ERROR(UndoInterrupted(device, undo_path));
    return result;
  }
  // resize2fs 1.47 was seen to succeed although a write of half the superblock had failed.
  absl::Status whole = os::FlushBlockDevice(device);
  if (whole.ok()) whole = ReadExtSuperblock(device, Mounted::kNo).status();
  if (whole.ok()) {
    RETURN_IF_ERROR(RemoveDurably(undo_path));
    return result;
  }
  RETURN_IF_ERROR(UndoInterrupted(device, undo_path));
  return Internal("{} said that all went well, but: {}; what it did was undone", argv.front(),
                  MessageOf(whole));
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
