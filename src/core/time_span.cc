// SPDX-License-Identifier: Apache-2.0
#include "core/time_span.h"

#include <absl/strings/numbers.h>
#include <absl/time/time.h>

namespace holdfast {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kDay = 24 * 60 * 60;
constexpr std::int64_t kMostDays = 3650;

absl::Status NoTimeSpan(const std::string& text) {
  return InvalidArgument(
      "'{}' is not 0 or a time of whole seconds, such as 24h or 7d, up to {} days", text,
      kMostDays);
}

}  // namespace

absl::StatusOr<seconds> ParseTimeSpan(const std::string& text) {
  absl::Duration time;
  std::int64_t days = 0;
  if (text.ends_with('d')) {  // which absl's durations have not
    const std::string number = text.substr(0, text.size() - 1);
    const bool digits = number.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || !absl::SimpleAtoi(number, &days) || days > kMostDays) {
      return NoTimeSpan(text);
    }
    time = absl::Hours(24) * days;
  } else if (!absl::ParseDuration(text, &time)) {
    return NoTimeSpan(text);
  }
  const bool whole = absl::Trunc(time, absl::Seconds(1)) == time;
  if (!whole || time < absl::ZeroDuration() || time > absl::Hours(24) * kMostDays) {
    return NoTimeSpan(text);
  }
  return seconds(absl::ToInt64Seconds(time));
}

std::string FormatTimeSpan(seconds time) {
  const std::int64_t count = time.count();
  if (count == 0) return "0";
  if (count % kDay == 0) return fmt::format("{}d", count / kDay);
  if (count % 3600 == 0) return fmt::format("{}h", count / 3600);
  if (count % 60 == 0) return fmt::format("{}m", count / 60);
  return fmt::format("{}s", count);
}

}  // namespace holdfast
