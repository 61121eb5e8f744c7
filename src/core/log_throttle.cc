// SPDX-License-Identifier: Apache-2.0
#include "core/log_throttle.h"

#include <fmt/format.h>

#include <utility>

namespace holdfast {

std::optional<std::uint64_t> LogThrottle::Take() {
  const MutexLock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - minute_ >= std::chrono::minutes(1)) {
    minute_ = now;
    lines_ = 0;
  }
  if (lines_ == kLinesPerMinute) {
    ++skipped_;
    return std::nullopt;
  }
  ++lines_;
  return std::exchange(skipped_, 0);
}

std::string LogThrottle::Note(std::uint64_t skipped) {
  return skipped == 0 ? std::string() : fmt::format(" (and {} more of this kind)", skipped);
}

}  // namespace holdfast
