// SPDX-License-Identifier: Apache-2.0
// Members of group snapshots that a killed process, or a coordinator that is gone, left undecided.
#pragma once

#include <functional>
#include <string>

#include "core/key_lock.h"
#include "pool/pools.h"

namespace holdfast::pool {

// Removes the group's deciding member if it is undecided, and says whether it is there afterwards.
// For one that no pool of this process has.
using AskElsewhere =
    std::function<absl::StatusOr<bool>(const std::string& group, const VolumeId& decides)>;

// Keeps the snapshot if its group's deciding member is there, and removes it otherwise; the
// deciding member itself is removed, because nothing was kept before it. The caller holds the lock
// of the snapshot. False if there is nothing to do, or a call is at work on the group. UNAVAILABLE
// if the deciding member is on another node and `ask` is null: then the controller asks that one.
[[nodiscard]] absl::StatusOr<bool> EndUndecided(const Pools& pools, KeyLock& locks,
                                                const VolumeId& id, const AskElsewhere& ask);

}  // namespace holdfast::pool
