// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/message_text.h"

namespace holdfast {
namespace {

using nlohmann::ordered_json;

struct LevelName {
  LogLevel level;
  spdlog::level::level_enum spdlog_level;
  std::string_view name;
};
constexpr LevelName kLevels[] = {
    {LogLevel::kDebug, spdlog::level::debug, "debug"},
    {LogLevel::kInfo, spdlog::level::info, "info"},
    {LogLevel::kWarning, spdlog::level::warn, "warning"},
    {LogLevel::kError, spdlog::level::err, "error"},
};

const LevelName& Find(LogLevel level) {
  for (const LevelName& entry : kLevels) {
    if (entry.level == level) return entry;
  }
  return kLevels[1];
}

spdlog::logger& Logger() {
  static const auto logger = [] {
    auto made = std::make_shared<spdlog::logger>("holdfast",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");  // the line is complete JSON
    return made;
  }();
  return *logger;
}

void Write(LogLevel level, const ordered_json& line) {
  // Invalid UTF-8 (a file name, a tool's output) is replaced, never a reason to lose the line.
  Logger().log(Find(level).spdlog_level, "{}",
               line.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

ordered_json StartLine(LogLevel level, std::string_view message) {
  return {{"time", NowRfc3339()}, {"level", Find(level).name}, {"message", MessageText(message)}};
}

}  // namespace

absl::StatusOr<LogLevel> ParseLogLevel(std::string_view text) {
  for (const LevelName& entry : kLevels) {
    if (entry.name == text) return entry.level;
  }
  return InvalidArgument("log level '{}' is none of: debug, info, warning, error", text);
}

void StartLog(LogLevel level) { Logger().set_level(Find(level).spdlog_level); }

void LogMessage(LogLevel level, std::string_view message) {
  if (Logger().should_log(Find(level).spdlog_level)) Write(level, StartLine(level, message));
}

void LogCall(LogLevel level, const CallRecord& call) {
  if (!Logger().should_log(Find(level).spdlog_level)) return;
  ordered_json line = StartLine(level, "call");
  line["request"] = call.request_id;
  line["method"] = call.method;
  if (!call.volume.empty()) line["volume"] = MessageText(call.volume);
  line["code"] = CodeName(call.status.code());
  line["ms"] = static_cast<double>(call.duration.count()) / 1000;
  if (!call.status.ok()) line["error"] = MessageOf(call.status);
  Write(level, line);
}

}  // namespace holdfast
