// SPDX-License-Identifier: Apache-2.0
// e2fsck and resize2fs change an unmounted filesystem in many small writes, and a kill between two
// of them can leave what e2fsck -p does not repair. So they keep what they overwrite in an undo
// file (their option -z), from which what was there before is brought back.
//
// Each write to the file is on the disk before the device changes, so that a power cut is undone,
// too.
//
// The file is there only while one of them runs, or was killed. It must be gone, durably, before
// the filesystem is mounted: later it would undo what was written since.
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
  // Asked when the program has said that all went well and the device is flushed: an error means
  // that it did not. None: nothing more is asked.
  std::function<absl::Status()> verify;
};

// Runs the program with `undo_path` as its undo file. If it fails, does not end in time, or
// `verify` says so, its changes are undone. Exit codes within the bits of `successes` are no
// failure. Errors as RunMaintenance and `verify`, and INTERNAL when the file cannot be made, used
// or removed, or when after a success the device cannot be flushed or has no right superblock.
// After an error, and after an exit code that is a failure, ask UndoInterrupted whether the device
// is as it was.
[[nodiscard]] absl::StatusOr<os::CommandResult> RunWithUndo(const UndoableRun& run,
                                                            const os::BlockDevice& device,
                                                            const std::string& undo_path);

// Takes back what a RunWithUndo that was killed, or that could not do it itself, did to the device;
// OK if there is nothing to take back. Not used where the filesystem was used or repaired by hand
// since. May itself be killed and repeated. INTERNAL when the file cannot be used or removed, or
// the device cannot be written to; the file stays then.
[[nodiscard]] absl::Status UndoInterrupted(const os::BlockDevice& device,
                                           const std::string& undo_path);

}  // namespace holdfast::fs
