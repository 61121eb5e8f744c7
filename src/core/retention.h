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

// As ParseTimeSpan. INVALID_ARGUMENT naming keepDeleted.
[[nodiscard]] absl::StatusOr<std::chrono::seconds> ParseRetention(const std::string& text);

// As FormatTimeSpan.
[[nodiscard]] std::string FormatRetention(std::chrono::seconds time);

}  // namespace holdfast
