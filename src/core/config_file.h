// SPDX-License-Identifier: Apache-2.0
// The YAML file of `holdfast serve`; its keys are those of core/settings.h.
#pragma once

#include <string>

#include "core/config.h"

namespace holdfast {

// Reads a YAML file over the defaults; a pool is of one of `kinds`. INVALID_ARGUMENT naming the
// line, and the key for anything unknown, of the wrong type or out of range; NOT_FOUND if the file
// is not there.
[[nodiscard]] absl::StatusOr<Config> LoadConfig(const std::string& path, PoolSyntaxes kinds);
[[nodiscard]] absl::StatusOr<Config> ParseConfig(const std::string& yaml, PoolSyntaxes kinds);

}  // namespace holdfast
