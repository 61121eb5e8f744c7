// SPDX-License-Identifier: Apache-2.0
// e2fsck and resize2fs change an unmounted filesystem in many small writes, and a kill between two
// of them can leave what e2fsck -p does not repair. So they keep what they overwrite in an undo
// file (their option -z), from which e2undo(8) brings back what was there before.
//
// Each write to the file is on the disk before the device changes, so that a power cut is undone,
// too.
//
// The file is there only while one of them runs, or was killed. It must be gone, durably, before
// the filesystem is mounted: later it would undo what was written since.
#pragma once

#include <string>
#include <vector>

#include "os/block_device.h"
#include "os/process.h"

namespace holdfast::fs {

// Runs `argv`, a program of e2fsprogs that takes -z and works on the device, with `undo_path` as
// its undo file. If it fails its changes are undone; exit codes within the bits of `successes` are
// no failure. The file is gone afterwards. Errors as RunMaintenance, and INTERNAL when the file
// cannot be made, used or removed, or when after a success the device cannot be flushed or has no
// right superblock: what was done is undone then, too.
[[nodiscard]] absl::StatusOr<os::CommandResult> RunWithUndo(const std::vector<std::string>& argv,
                                                            const os::BlockDevice& device,
                                                            const std::string& undo_path,
                                                            int successes);

// Takes back what a RunWithUndo that was killed did to the device; OK if there is nothing to take
// back. Not used where somebody has repaired the filesystem by hand since. May itself be killed and
// repeated. INTERNAL when the file cannot be used or removed.
[[nodiscard]] absl::Status UndoInterrupted(const os::BlockDevice& device,
                                           const std::string& undo_path);

}  // namespace holdfast::fs
