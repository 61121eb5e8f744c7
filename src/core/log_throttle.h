// SPDX-License-Identifier: Apache-2.0
// Keeps unauthenticated peers from filling the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/mutex.h"

namespace holdfast {

// Thread-safe.
class LogThrottle final {
 public:
  static constexpr int kLinesPerMinute = 30;

  // The number of lines skipped since the last one; nothing when this one must be skipped, too.
  [[nodiscard]] std::optional<std::uint64_t> Take();

  // "" or " (and N more of this kind)", for the end of a line.
  [[nodiscard]] static std::string Note(std::uint64_t skipped);

 private:
  Mutex mutex_;
  std::chrono::steady_clock::time_point minute_ ABSL_GUARDED_BY(mutex_){};
  int lines_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t skipped_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast
