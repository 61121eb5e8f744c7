// SPDX-License-Identifier: Apache-2.0
// Runs e2fsck, resize2fs and tune2fs with an undo file. They change an unmounted filesystem in many
// small writes, and a kill between two of them can leave damage that e2fsck -p does not repair. So
// they save what they overwrite in an undo file (their option -z), from which the former state is
// restored.
//
// Each write to the file is on the disk before the device changes, so a power cut is undone, too.
//
// The file exists only while one of them runs, or after it was killed. It must be removed, durably,
// before the filesystem is mounted: later it would undo newer writes.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "os/block_device.h"
#include "os/process.h"

namespace holdfast::fs {

struct UndoableRun {
  std::vector<std::string> argv;  // a program of e2fsprogs that takes -z and works on the device
  int successes = 0;              // bits of its exit code that are not failures
  std::chrono::milliseconds deadline{0};
  // The program writes nothing but superblocks, so that a copy of the first one undoes it. Then it
  // need not take -z, and is a good deal faster.
  bool changes_superblocks_only = false;
  // Called after the program has reported success and the device is flushed: an error means that
  // the program failed after all. Empty: no further check.
  std::function<absl::Status()> verify;
};

// Runs the program with `undo_path` as its undo file. If it fails or does not end in time, or
// `verify` returns an error, its changes are undone. Exit codes within the bits of `successes` do
// not count as failures. Errors as RunMaintenance and `verify`, and INTERNAL when the file cannot
// be made, used or removed, or when after a success the device cannot be flushed or has no valid
// superblock. After an error, and after an exit code that means failure, call UndoInterrupted to
// find out whether the device is unchanged.
[[nodiscard]] absl::StatusOr<os::CommandResult> RunWithUndo(const UndoableRun& run,
                                                            const os::BlockDevice& device,
                                                            const std::string& undo_path);

// The same for a change of the first superblock that needs no program: undone if it returns an
// error, or a kill or a power cut comes before its end. `change` makes it durable itself. Errors as
// `change`, and INTERNAL when the undo file cannot be made, used or removed.
[[nodiscard]] absl::Status ChangeSuperblockWithUndo(const os::BlockDevice& device,
                                                    const std::string& undo_path,
                                                    const std::function<absl::Status()>& change);

// Undoes the changes of one of the two that was killed, or that could not undo them itself; OK if
// there is nothing to undo. Does not apply the file if the filesystem has been used or repaired by
// hand since. May itself be killed and repeated. INTERNAL when the file cannot be used or removed,
// or the device cannot be written to; the file then stays.
[[nodiscard]] absl::Status UndoInterrupted(const os::BlockDevice& device,
                                           const std::string& undo_path);

}  // namespace holdfast::fs
