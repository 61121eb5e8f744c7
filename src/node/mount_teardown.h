// SPDX-License-Identifier: Apache-2.0
// Taking mounts away by the mount table alone: no record, pool or volume is needed for it.
#pragma once

#include "os/mount_table.h"
#include "os/target_path.h"

namespace holdfast::node {

// Unmounts every mount stacked at `target` that shows a volume: a filesystem on a loop or rbd
// device, or the node of one. OK if there is none. FAILED_PRECONDITION when one is busy, or when
// something that is no volume is mounted there (it is left alone).
[[nodiscard]] absl::Status UnmountVolume(const os::TargetPath& target);

// The same for a staged volume, whose last mount goes: if its filesystem is frozen, by a killed
// growth or by what ran in a pod, it is thawed first, since nobody could do that afterwards.
[[nodiscard]] absl::Status UnmountStaged(const os::TargetPath& target);

// True for a mount of a filesystem on a loop or rbd device, or of the node of one.
[[nodiscard]] bool ShowsVolume(const os::MountEntry& entry);

}  // namespace holdfast::node
