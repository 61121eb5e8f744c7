// SPDX-License-Identifier: Apache-2.0
#include "pool/space_policy.h"

#include <charconv>
#include <string>
#include <string_view>

namespace holdfast::pool {
namespace {

constexpr double kMostOvercommit = 1000;

absl::StatusOr<double> ParseNumber(std::string_view key, std::string_view text, double least,
                                   double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
      !(value <= most)) {
    return InvalidArgument("{}='{}' must be a number from {} to {}", key, text, least, most);
  }
  return value;
}

// "90%" as 0.9.
absl::StatusOr<double> ParsePercent(std::string_view key, std::string_view text) {
  if (!text.ends_with('%'))
    return InvalidArgument("{}='{}' must be a percentage, such as 90%", key, text);
  text.remove_suffix(1);
  ASSIGN_OR_RETURN(const double percent, ParseNumber(key, text, 0, 100));
  return percent / 100;
}

absl::Status SetReserve(SpacePolicy& space, std::string_view text) {
  space.reserve_bytes = 0;
  space.reserve_fraction = 0;
  space.reserve_given = true;
  if (text.ends_with('%')) {
    ASSIGN_OR_RETURN(space.reserve_fraction, ParsePercent("reserve", text));
  } else {
    const auto bytes = ParseBytes(text);
    if (!bytes.ok()) {
      return InvalidArgument("reserve='{}' must be a percentage or a size, such as 5% or 20Gi",
                             text);
    }
    space.reserve_bytes = *bytes;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SpacePolicy> ParseSpacePolicy(const PoolKeys& keys) {
  SpacePolicy space;
  for (const auto& [key, value] : keys) {
    if (key == "reserve") {
      RETURN_IF_ERROR(SetReserve(space, value));
    } else if (key == "overcommit") {
      ASSIGN_OR_RETURN(space.overcommit, ParseNumber(key, value, 1, kMostOvercommit));
    } else if (key == "watermark") {
      ASSIGN_OR_RETURN(space.watermark, ParsePercent(key, value));
    }
  }
  return space;
}

}  // namespace holdfast::pool
