// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/clock.h"
#include "core/line_writer.h"
#include "core/message_text.h"

namespace holdfast {
namespace {

using nlohmann::ordered_json;

// The most that is kept while the reader of the log is behind: a few thousand lines.
constexpr std::size_t kMostKept = 1 << 20;

constexpr std::string_view kLevelNames[] = {"debug", "info", "warning", "error"};

std::atomic<LogLevel> lowest_level{LogLevel::kInfo};

std::string_view NameOf(LogLevel level) { return kLevelNames[static_cast<int>(level)]; }

bool IsLogged(LogLevel level) { return level >= lowest_level.load(std::memory_order_relaxed); }

ordered_json StartLine(LogLevel level, std::string_view message) {
  return {{"time", NowRfc3339()}, {"level", NameOf(level)}, {"message", MessageText(message)}};
}

std::string TextOf(const ordered_json& line) {
  // Invalid UTF-8 (a file name, a tool's output) is replaced: it must not lose the line.
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string ReportDropped(std::uint64_t count) {
  return TextOf(
      StartLine(LogLevel::kWarning,
                fmt::format("{} log lines were dropped: the reader of the log was behind by "
                            "{} bytes",
                            count, kMostKept)));
}

LineWriter& Output() {
  // Not destroyed: other threads may log until the process has ended.
  static auto& output = *new LineWriter(STDERR_FILENO, kMostKept, ReportDropped);
  return output;
}

}  // namespace

absl::StatusOr<LogLevel> ParseLogLevel(std::string_view text) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (NameOf(level) == text) return level;
  }
  return InvalidArgument("log level '{}' must be one of: debug, info, warning, error", text);
}

void StartLog(LogLevel level) { lowest_level.store(level, std::memory_order_relaxed); }

bool FlushLog(std::chrono::milliseconds limit) { return Output().Flush(limit); }

void LogMessage(LogLevel level, std::string_view message) {
  if (IsLogged(level)) Output().Write(TextOf(StartLine(level, message)));
}

void LogCall(LogLevel level, const CallRecord& call) {
  if (!IsLogged(level)) return;
  ordered_json line = StartLine(level, "call");
  line["request"] = call.request_id;
  line["method"] = call.method;
  if (!call.volume.empty()) line["volume"] = MessageText(call.volume);
  line["code"] = CodeName(call.status.code());
  line["ms"] = static_cast<double>(call.duration.count()) / 1000;
  if (!call.status.ok()) line["error"] = MessageOf(call.status);
  Output().Write(TextOf(line));
}

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
