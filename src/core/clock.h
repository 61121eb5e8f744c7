// SPDX-License-Identifier: Apache-2.0
// The wall clock as text.
#pragma once

#include <absl/time/time.h>

#include <string>

namespace holdfast {

// "2026-01-31T23:59:59Z": RFC 3339, UTC, whole seconds.
[[nodiscard]] std::string Rfc3339(absl::Time time);
[[nodiscard]] std::string NowRfc3339();

}  // namespace holdfast
