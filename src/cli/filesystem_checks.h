// SPDX-License-Identifier: Apache-2.0
// Whether this host can make, mount and grow the filesystems that Holdfast knows.
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"

namespace holdfast::cli {

// One finding for the kernel and one for the programs of `filesystem`. What is not there is missing
// if it is `needed` (the default of a pool), a warning otherwise.
[[nodiscard]] std::vector<Finding> CheckFilesystem(const std::string& filesystem, bool needed,
                                                   const std::string& kernel_release);

}  // namespace holdfast::cli
