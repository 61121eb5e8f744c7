// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/captured_stderr.h"
#include "support/outcome.h"

namespace holdfast {
namespace log_test {

using nlohmann::json;

// Every line that `write` logs, each proved to be one JSON object.
template <typename Write>
std::vector<json> LinesOf(LogLevel level, const Write& write) {
  StartLog(level);
  std::string text;
  {
    const test::CapturedStderr captured;
    write();
    text = captured.text();
  }
  StartLog(LogLevel::kInfo);
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    CAPTURE(line);
    lines.push_back(json::parse(line, nullptr, /*allow_exceptions=*/false));
    CHECK(lines.back().is_object());
  }
  CHECK((text.empty() || text.ends_with('\n')));
  return lines;
}

TEST_CASE("levels by name") {
  CHECK(*ParseLogLevel("debug") == LogLevel::kDebug);
  CHECK(*ParseLogLevel("error") == LogLevel::kError);
  CHECK_FAILS(ParseLogLevel("trace"), kInvalidArgument, "one of: debug, info, warning, error");
}

TEST_CASE("a message is one line with time, level and text") {
  const auto lines = LinesOf(LogLevel::kInfo, [] { LogWarning("{} of {}", 1, "two"); });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["message"] == "1 of two");
  CHECK(lines[0]["level"] == "warning");
  const auto time = lines[0]["time"].get<std::string>();
  REQUIRE(time.size() == 20);
  CHECK(time[4] == '-');
  CHECK(time[10] == 'T');
  CHECK(time[19] == 'Z');
}

TEST_CASE("whatever the text, a line stays one line of JSON") {
  const std::string texts[] = {
      "two\nlines\r\n",
      "\"quoted\" \\ {braces} {} %s",
      std::string("nul\0inside", 10),
      "bad utf-8 \xff\xfe \xc3\x28",
      "truncated \xe2\x82",
      "\x1b[31mred",
      std::string(100'000, 'x'),
      "grüße, 日本",
  };
  for (const std::string& text : texts) {
    const auto lines = LinesOf(LogLevel::kInfo, [&] {
      LogInfo("{}", text);
      LogCall(LogLevel::kInfo, CallRecord{.request_id = 1,
                                          .method = "M",
                                          .volume = text,
                                          .duration = {},
                                          .status = Internal("{}", text)});
    });
    REQUIRE(lines.size() == 2);
    CHECK_FALSE(lines[0]["message"].get<std::string>().empty());
  }
}

TEST_CASE("lines below the level are dropped") {
  const auto log_all = [] {
    LogMessage(LogLevel::kDebug, "debug");
    LogMessage(LogLevel::kInfo, "info");
    LogMessage(LogLevel::kWarning, "warning");
    LogMessage(LogLevel::kError, "error");
  };
  CHECK(LinesOf(LogLevel::kDebug, log_all).size() == 4);
  CHECK(LinesOf(LogLevel::kInfo, log_all).size() == 3);
  CHECK(LinesOf(LogLevel::kWarning, log_all).size() == 2);
  const auto errors = LinesOf(LogLevel::kError, log_all);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0]["message"] == "error");
}

TEST_CASE("a call's line tells who, what, how long and why") {
  const auto lines = LinesOf(LogLevel::kInfo, [] {
    LogCall(LogLevel::kWarning, CallRecord{.request_id = 7,
                                           .method = "NodeStageVolume",
                                           .volume = "p:n:u",
                                           .duration = std::chrono::microseconds(1500),
                                           .status = Aborted("busy")});
    LogCall(
        LogLevel::kInfo,
        CallRecord{.request_id = 8, .method = "Probe", .volume = "", .duration = {}, .status = {}});
    LogCall(
        LogLevel::kDebug,
        CallRecord{.request_id = 9, .method = "Probe", .volume = "", .duration = {}, .status = {}});
  });
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["request"] == 7);
  CHECK(lines[0]["method"] == "NodeStageVolume");
  CHECK(lines[0]["volume"] == "p:n:u");
  CHECK(lines[0]["code"] == "ABORTED");
  CHECK(lines[0]["ms"] == 1.5);
  CHECK(lines[0]["error"] == "busy");
  CHECK(lines[1]["code"] == "OK");
  CHECK_FALSE(lines[1].contains("volume"));
  CHECK_FALSE(lines[1].contains("error"));
}

}  // namespace log_test
}  // namespace holdfast
