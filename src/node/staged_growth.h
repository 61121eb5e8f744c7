// SPDX-License-Identifier: Apache-2.0
// Growing the filesystem of a staged volume so that a kill in the middle can be repaired.
//
// Growing freezes ext and xfs for a moment: before, because the kernel would make the growth wait
// for the end of another program's freeze, and nothing could interrupt it; and xfs after it as
// well, for its superblock. A kill in that moment leaves it frozen, and nothing in the kernel says
// by whom. So the stage record says so before the driver tries, and no longer once its freeze has
// ended or was refused because another program holds one. Only what a record says is thawed.
//
// What remains: between the two writes of the record, a few system calls apart, a kill leaves the
// mark although the driver may not have frozen anything, or has thawed it. If another program
// freezes the filesystem before the driver's successor looks, or had frozen it already, the
// successor ends that freeze. And a freeze that begins just after the first one ended makes the
// growth wait for its end.
#pragma once

#include <string>

#include "fs/filesystem.h"
#include "state/stage_store.h"

namespace holdfast::node {

// Grows the filesystem mounted at `mount_path` to its device. The stage record is marked before and
// unmarked after. What an interrupted growth left is ended first. The mark of a growth stays when
// the end of it is missing, or another program holds the filesystem frozen, so that it is taken up
// again. Errors as Filesystem::Grow; FAILED_PRECONDITION, at once (btrfs: UNAVAILABLE, after
// seconds), when another program holds the filesystem frozen, which stays so.
[[nodiscard]] absl::Status GrowStaged(const fs::Filesystem& filesystem,
                                      const os::BlockDevice& device, const std::string& mount_path,
                                      const state::StageStore& stages, state::StageRecord& record);

// Thaws the filesystem on `device` if the record says that the driver froze it. Through a mount
// that shows the device, wherever it is: what the record calls the staging path may be
// another filesystem's by now. FAILED_PRECONDITION if no mount shows it.
[[nodiscard]] absl::Status EndOwnFreeze(const os::BlockDevice& device,
                                        const state::StageStore& stages,
                                        state::StageRecord& record);

}  // namespace holdfast::node
