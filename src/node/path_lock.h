// SPDX-License-Identifier: Apache-2.0
// Opens the paths of requests, which os/request_path.h checks, and locks them.
#pragma once

#include <string>

#include "core/key_lock.h"
#include "os/request_path.h"

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

}  // namespace holdfast::node
