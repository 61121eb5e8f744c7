// SPDX-License-Identifier: Apache-2.0
// Checks, repairs and grows an unmounted ext3 or ext4: e2fsck(8) and resize2fs(8), undone when they
// fail (fs/ext_undo.h).
#pragma once

#include <chrono>
#include <string>

#include "fs/ext_superblock.h"
#include "os/block_device.h"

namespace holdfast::fs {

// The limits of a growth before a mount, while a pod waits for its data. ext4 with lazy inode
// tables stays far below. For ext3 all inode tables of the new part are written, and as much to the
// undo file: 16 to 32 MiB for each new GiB. The limit is for blocks of 4 KiB, and a quarter of it
// for blocks of 1 KiB, because each block costs four synchronous writes.
struct GrowthLimits {
  Bytes undo_file = 64 * kMiB;
  std::chrono::milliseconds time = std::chrono::minutes(2);
};

// Repairs what e2fsck -p repairs and sees that the error flag is gone. FAILED_PRECONDITION when a
// person must repair it (names the program to run), other codes when that is unknown;
// `undo_path` as in RunWithUndo. The changes are kept only after OK.
[[nodiscard]] absl::Status RepairUnmounted(const os::BlockDevice& device,
                                           const std::string& undo_path);

// Checks the filesystem and grows it to `blocks`; a check of the result, and its block count, must
// then succeed, or all changes are undone.
//   DATA_LOSS            the check found damage that e2fsck -p does not repair, so that a person
//                        must; the message names the program to run
//   RESOURCE_EXHAUSTED   the undo file would exceed the limits, or the free space in the directory
//                        of `undo_path`: nothing was begun
//   other                it failed, or took longer than the limits allow
// After an error, call UndoInterrupted to find out whether the device is unchanged.
[[nodiscard]] absl::Status GrowUnmounted(const os::BlockDevice& device,
                                         const ExtSuperblock& superblock, std::uint64_t blocks,
                                         const std::string& undo_path,
                                         const GrowthLimits& limits = {});

// An estimate, rather too high, of the size of the undo file when the filesystem grows to `blocks`:
// the metadata of new groups that resize2fs writes, the copies of the group descriptors, and a
// journal that e2fsck replays first.
[[nodiscard]] Bytes EstimateUndoFile(const ExtSuperblock& superblock, std::uint64_t blocks);

}  // namespace holdfast::fs
