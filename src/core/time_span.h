// SPDX-License-Identifier: Apache-2.0
// Spans of time, as people write them in settings, pool keys and class parameters.
#pragma once

#include <chrono>
#include <string>

#include "core/status.h"

namespace holdfast {

// "0", "90m", "24h", "7d", "1h30m": whole seconds, at most ten years. INVALID_ARGUMENT naming the
// text otherwise; the caller adds what it is for.
[[nodiscard]] absl::StatusOr<std::chrono::seconds> ParseTimeSpan(const std::string& text);

// "0", "45s", "90m", "24h", "7d": the largest unit of which it is a whole number.
[[nodiscard]] std::string FormatTimeSpan(std::chrono::seconds time);

}  // namespace holdfast
