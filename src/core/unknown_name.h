// SPDX-License-Identifier: Apache-2.0
// The error for a name that is not one of a fixed set: most of them are typing mistakes.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/status.h"

namespace holdfast {

// The known name that `name` most likely means: case, '-' and '_' do not count, and at most a third
// of the letters is wrong. None if no known name is that close.
[[nodiscard]] std::optional<std::string_view> ClosestName(std::string_view name,
                                                          std::span<const std::string_view> known);

// INVALID_ARGUMENT "unknown <what> '<name>'; did you mean '<closest>'?", or with all known names if
// none is close.
[[nodiscard]] absl::Status UnknownName(std::string_view what, std::string_view name,
                                       std::span<const std::string_view> known);

}  // namespace holdfast
