// SPDX-License-Identifier: Apache-2.0
#include "core/retention.h"

#include "core/time_span.h"

namespace holdfast {

absl::StatusOr<std::chrono::seconds> ParseRetention(const std::string& text) {
  const auto time = ParseTimeSpan(text);
  if (time.ok()) return time;
  return InvalidArgument("{}={}", kKeepDeleted, MessageOf(time.status()));
}

std::string FormatRetention(std::chrono::seconds time) { return FormatTimeSpan(time); }

}  // namespace holdfast
