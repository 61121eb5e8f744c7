// SPDX-License-Identifier: Apache-2.0
// What `holdfast doctor` examines for pools in Ceph.
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "core/pool_config.h"

namespace holdfast::rbd {

// Ceph's library, the user's key, the kernel's client, and whether the cluster answers. Changes
// nothing. Takes until the time limit if the cluster cannot be reached.
[[nodiscard]] std::vector<Finding> ExaminePool(const PoolConfig& pool,
                                               const std::string& state_dir);

}  // namespace holdfast::rbd
