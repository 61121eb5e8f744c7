// SPDX-License-Identifier: Apache-2.0
// What a pool in Ceph needs of this host.
#pragma once

#include <vector>

#include "cli/finding.h"
#include "core/pool_config.h"

namespace holdfast::cli {

// Ceph's library, the user's key, the kernel's client, and whether the cluster answers. Changes
// nothing. Takes as long as an unreachable cluster is waited for.
[[nodiscard]] std::vector<Finding> CheckRbdPool(const PoolConfig& pool);

}  // namespace holdfast::cli
