// SPDX-License-Identifier: Apache-2.0
// The paths of requests (os/request_path.h) on this node: opened, locked, and what is mounted
// there.
#pragma once

#include <string>

#include "core/key_lock.h"
#include "node/mount_teardown.h"
#include "os/request_path.h"
#include "pool/pools.h"
#include "state/stage_store.h"

namespace holdfast::node {

// RequestPath::Open for requests that mount something, except that a missing parent directory is
// FAILED_PRECONDITION: to a CO, NOT_FOUND means that there is no such volume.
[[nodiscard]] absl::StatusOr<os::RequestPath> OpenPath(const std::string& path,
                                                       const std::string& field);

// Locks a target or staging path: one call at a time, whatever the volume. ABORTED while another
// call is at work at the same place, under this path or another one that leads there. Taken after
// the volume's lock.
[[nodiscard]] absl::StatusOr<KeyLock::Guard> LockPath(KeyLock& locks,
                                                      const os::RequestPath& target);

// What is needed to take away this volume's mounts at `path`. The records are read when they are
// asked; one that cannot be read claims nothing. `pools` and `stages` must outlive it.
[[nodiscard]] Teardown TeardownOf(const pool::Pools& pools, const state::StageStore& stages,
                                  const std::string& volume_id, const std::string& path);

}  // namespace holdfast::node
