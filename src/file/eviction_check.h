// SPDX-License-Identifier: Apache-2.0
// Whether a pool can fill the disk that kubelet watches.
#pragma once

#include <string>

#include "core/finding.h"
#include "pool/space_policy.h"

namespace holdfast::file {

// Volumes can fill the filesystem up to the pool's reserve. Where the pool shares a filesystem with
// kubelet or a container runtime, that must be more than what kubelet wants to see free there, or a
// legitimate claim makes it remove images and evict pods. A warning then; OK where the pool has a
// filesystem of its own, or this host has no kubelet.
[[nodiscard]] Finding CheckEviction(const std::string& pool, int root_fd,
                                    const pool::SpacePolicy& policy);

}  // namespace holdfast::file
