// SPDX-License-Identifier: Apache-2.0
// A lock that admits one call at a time per target or staging path, whatever the volume.
#pragma once

#include "core/key_lock.h"
#include "os/target_path.h"

namespace holdfast::node {

// ABORTED while another call is at work at the same place, under this path or another one that
// leads there. Taken after the volume's lock.
[[nodiscard]] absl::StatusOr<KeyLock::Guard> LockPath(KeyLock& locks, const os::TargetPath& target);

}  // namespace holdfast::node
