// SPDX-License-Identifier: Apache-2.0
// Small files that others write for us: configuration, tokens, keys.
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast {

// All of it. NOT_FOUND if it cannot be opened or read; FAILED_PRECONDITION beyond 1 MiB.
[[nodiscard]] absl::StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace holdfast
