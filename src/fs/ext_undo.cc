// SPDX-License-Identifier: Apache-2.0
#include "fs/ext_undo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/log.h"
#include "fs/ext_superblock.h"
#include "fs/format_programs.h"
#include "fs/undo_file.h"
#include "fs/undo_path.h"
#include "os/file.h"
#include "os/file_flags.h"

namespace holdfast::fs {
namespace {

// The name of the undo file while it is being applied: from then on it must be applied completely.
std::string UsedPath(const std::string& undo_path) { return undo_path + ".used"; }

absl::StatusOr<bool> Exists(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) return true;
  if (errno == ENOENT) return false;
  return OsError(errno, fmt::format("cannot look for '{}'", path));
}

absl::StatusOr<os::UniqueFd> OpenParent(const std::filesystem::path& path) {
  return os::OpenDirectory(path.parent_path());
}

// Durably: after a power cut in the middle, the superblock must not decide again whether the file
// applies.
absl::Status MarkUsed(const std::string& undo_path) {
  if (::rename(undo_path.c_str(), UsedPath(undo_path).c_str()) != 0) {
    return OsError(errno, fmt::format("cannot rename '{}'", undo_path));
  }
  ASSIGN_OR_RETURN(const os::UniqueFd directory, OpenParent(undo_path));
  return os::Sync(directory.get(), undo_path);
}

// The programs treat an empty file as a missing one. They save in it what they are about to
// overwrite, so the file must be on the disk before the device is written to; they do not ensure
// that themselves.
absl::Status MakeUndoFile(const std::string& path) {
  const std::filesystem::path place(path);
  ASSIGN_OR_RETURN(const os::UniqueFd directory, OpenParent(place));
  const os::UniqueFd file(::openat(directory.get(), place.filename().c_str(),
                                   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return OsError(errno, fmt::format("make undo file '{}'", path));
  RETURN_IF_ERROR(Annotate(os::MakeWritesSynchronous(file.get()), path));
  RETURN_IF_ERROR(os::Sync(file.get(), path));
  return os::Sync(directory.get(), place.parent_path().string());
}

// Whether the file explains the present state of the device: the superblock is what it was at the
// last write to the file. Nobody can have used or repaired a filesystem without a right superblock:
// there a kill came between two writes to the superblock itself.
absl::StatusOr<bool> Applies(const UndoFile& undo, const os::BlockDevice& device) {
  if (undo.empty()) return false;
  const absl::Status readable = ReadExtSuperblock(device, Mounted::kNo).status();
  if (absl::IsFailedPrecondition(readable)) return true;
  RETURN_IF_ERROR(readable);
  return undo.MatchesSuperblock(device);
}

// What the program's exit code is not enough for: resize2fs 1.47 was seen to succeed although a
// write of half the superblock had failed.
absl::Status Verify(const UndoableRun& run, const os::BlockDevice& device) {
  RETURN_IF_ERROR(os::FlushBlockDevice(device));
  RETURN_IF_ERROR(ReadExtSuperblock(device, Mounted::kNo).status());
  return run.verify ? run.verify() : absl::OkStatus();
}

absl::Status Restore(const UndoFile& undo, const os::BlockDevice& device, const std::string& used) {
  LogInfo("{}: a program of e2fsprogs did not come to its end; undoing what it did", device.path);
  const absl::Status restored = undo.Restore(device);
  if (restored.ok()) return RemoveDurably(used);
  return Internal(
      "what a program of e2fsprogs did to {} cannot be undone: {}; if the filesystem has been "
      "repaired by hand, remove the file '{}'",
      device.path, MessageOf(restored), used);
}

// After a program of this very call, so that no other program can have changed the device since.
absl::Status UndoOwn(const os::BlockDevice& device, const std::string& undo_path) {
  ASSIGN_OR_RETURN(const UndoFile undo, UndoFile::Open(undo_path));
  if (undo.empty()) return RemoveDurably(undo_path);
  RETURN_IF_ERROR(MarkUsed(undo_path));
  return Restore(undo, device, UsedPath(undo_path));
}

}  // namespace

absl::StatusOr<os::CommandResult> RunWithUndo(const UndoableRun& run, const os::BlockDevice& device,
                                              const std::string& undo_path) {
  std::vector<std::string> words = run.argv;
  if (run.changes_superblocks_only) {
    RETURN_IF_ERROR(UndoFile::SaveSuperblock(device, undo_path));
  } else {
    RETURN_IF_ERROR(MakeUndoFile(undo_path));
    words.insert(words.begin() + 1, {"-z", undo_path});
  }
  const absl::StatusOr<os::CommandResult> result = RunMaintenance(words, run.deadline);
  if (!result.ok() || result->signal != 0 || (result->exit_code & ~run.successes) != 0) {
    RETURN_IF_ERROR(UndoOwn(device, undo_path));
    return result;
  }
  const absl::Status whole = Verify(run, device);
  if (whole.ok()) {
    RETURN_IF_ERROR(RemoveDurably(undo_path));
    return result;
  }
  RETURN_IF_ERROR(UndoOwn(device, undo_path));
  return Internal("{} said that all went well, but: {}; what it did was undone", run.argv.front(),
                  MessageOf(whole));
}

absl::Status ChangeSuperblockWithUndo(const os::BlockDevice& device, const std::string& undo_path,
                                      const std::function<absl::Status()>& change) {
  RETURN_IF_ERROR(UndoFile::SaveSuperblock(device, undo_path));
  const absl::Status changed = change();
  if (changed.ok()) return RemoveDurably(undo_path);
  RETURN_IF_ERROR(UndoOwn(device, undo_path));
  return changed;
}

absl::Status UndoInterrupted(const os::BlockDevice& device, const std::string& undo_path) {
  RETURN_IF_ERROR(RemoveUnfinished(undo_path));
  const std::string used = UsedPath(undo_path);
  ASSIGN_OR_RETURN(const bool begun, Exists(used));
  if (!begun) {
    ASSIGN_OR_RETURN(const bool interrupted, Exists(undo_path));
    if (!interrupted) return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const UndoFile undo, UndoFile::Open(begun ? used : undo_path));
  if (!begun) {
    ASSIGN_OR_RETURN(const bool applies, Applies(undo, device));
    if (!applies) return RemoveDurably(undo_path);
    RETURN_IF_ERROR(MarkUsed(undo_path));
  }
  return Restore(undo, device, used);
}

}  // namespace holdfast::fs
