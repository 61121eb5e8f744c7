// SPDX-License-Identifier: Apache-2.0
// How long deleted volumes and snapshots are kept, as people write it: the pool key and the class
// parameter keepDeleted (docs/trash.md).
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/status.h"

namespace holdfast {

// Of a pool key and of a class parameter.
inline constexpr char kKeepDeleted[] = "keepDeleted";

// "0", "90m", "24h", "7d", "1h30m": whole seconds, at most ten years. INVALID_ARGUMENT naming
// keepDeleted otherwise.
[[nodiscard]] absl::StatusOr<std::chrono::seconds> ParseRetention(const std::string& text);

// "0", "45s", "90m", "24h", "7d": the largest unit of which it is a whole number.
[[nodiscard]] std::string FormatRetention(std::chrono::seconds time);

}  // namespace holdfast
