// SPDX-License-Identifier: Apache-2.0
// Reads small files that other programs or people write for us: configuration, tokens, keys.
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast {

// The whole file. NOT_FOUND if it cannot be opened or read; FAILED_PRECONDITION if it is longer
// than 1 MiB.
[[nodiscard]] absl::StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace holdfast
