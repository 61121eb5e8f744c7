// SPDX-License-Identifier: Apache-2.0
// The log: one JSON object per line on standard error, written at once, because a crash must lose
// nothing, but without waiting for a reader that has stopped (core/line_writer.h). Callers log
// named facts and never a whole request, so secrets cannot get in.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/mutex.h"
#include "core/status.h"

namespace holdfast {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// "debug", "info", "warning", "error". INVALID_ARGUMENT otherwise.
[[nodiscard]] absl::StatusOr<LogLevel> ParseLogLevel(std::string_view text);

// Lines below `level` are dropped. Call before threads start; info until then.
void StartLog(LogLevel level);

// Waits until the reader has read all lines; false if that takes longer than `limit`. Call it
// before the process ends.
bool FlushLog(std::chrono::milliseconds limit);

// Thread-safe. {"time":…, "level":…, "message":…}
void LogMessage(LogLevel level, std::string_view message);

// One answered call: {"time":…, "level":…, "message":"call", "request":…, "method":…, "volume":…,
// "code":…, "ms":…, "error":…}; volume and error only where there are any.
struct CallRecord {
  std::uint64_t request_id = 0;
  std::string_view method;
  std::string_view volume;
  std::chrono::microseconds duration{0};
  absl::Status status;
};
void LogCall(LogLevel level, const CallRecord& call);

template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  LogMessage(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  LogMessage(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  LogMessage(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

// Keeps unauthenticated peers from filling the log. Thread-safe.
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
