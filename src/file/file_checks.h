// SPDX-License-Identifier: Apache-2.0
// What `holdfast doctor` examines for pools of image files.
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "core/pool_config.h"

namespace holdfast::file {

// Whether the loop driver, and one of its free devices, can be opened.
[[nodiscard]] std::vector<Finding> ExamineHost();

// Directory, marker, direct I/O, snapshots, space, every volume's record and image, and eviction by
// kubelet. Changes nothing: direct I/O is tried on a file without a name, which disappears when it
// is closed.
[[nodiscard]] std::vector<Finding> ExaminePool(const PoolConfig& pool,
                                               const std::string& state_dir);

}  // namespace holdfast::file
