// SPDX-License-Identifier: Apache-2.0
// Byte quantities: the type, alignment, and their text forms for people.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "core/status.h"

namespace holdfast {

// A size in bytes. Signed because every CSI size is an int64; values inside Holdfast are >= 0.
using Bytes = std::int64_t;

inline constexpr Bytes kKiB = 1024;
inline constexpr Bytes kMiB = 1024 * kKiB;
inline constexpr Bytes kGiB = 1024 * kMiB;
inline constexpr Bytes kTiB = 1024 * kGiB;

// The smallest multiple of `alignment` (> 0) that is >= `value` (>= 0); saturates at the largest
// multiple that fits.
[[nodiscard]] constexpr Bytes AlignUp(Bytes value, Bytes alignment) {
  const Bytes largest = std::numeric_limits<Bytes>::max() / alignment * alignment;
  if (value > largest) return largest;
  return (value / alignment + (value % alignment != 0 ? 1 : 0)) * alignment;
}
// The largest multiple of `alignment` (> 0) that is <= `value` (>= 0).
[[nodiscard]] constexpr Bytes AlignDown(Bytes value, Bytes alignment) {
  return value / alignment * alignment;
}

// Parses "0", "4096", "64Ki", "10Mi", "1.5Gi", "2Ti" (Kubernetes' binary suffixes) and "10G", "5M"
// (decimal). INVALID_ARGUMENT for anything else, for negative values and for overflow.
[[nodiscard]] absl::StatusOr<Bytes> ParseBytes(std::string_view text);

// "512 B", "4 KiB", "1.5 GiB": for people. At most one decimal.
[[nodiscard]] std::string FormatBytes(Bytes value);

}  // namespace holdfast
