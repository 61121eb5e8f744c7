// SPDX-License-Identifier: Apache-2.0
// Whether a directory can be the pool that a configuration says it is.
#pragma once

#include <string>
#include <vector>

#include "cli/finding.h"
#include "core/pool_config.h"

namespace holdfast::cli {

// Directory, marker, direct I/O, space, and every volume's record and image. Nothing is changed:
// direct I/O is tried on a file without a name, which disappears when it is closed.
[[nodiscard]] std::vector<Finding> CheckPool(const PoolConfig& pool, const std::string& state_dir);

}  // namespace holdfast::cli
