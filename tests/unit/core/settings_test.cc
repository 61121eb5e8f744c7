// SPDX-License-Identifier: Apache-2.0
#include "core/settings.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/time_span.h"
#include "support/outcome.h"

namespace holdfast {
namespace settings_test {

struct Documented {
  std::string flag;
  std::string environment;
  std::string key;
  std::string fallback;
};

std::string Plain(std::string text) {
  std::erase(text, '`');
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Documented ParseRow(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream row(line);
  for (std::string cell; std::getline(row, cell, '|');) cells.push_back(Plain(cell));
  REQUIRE(cells.size() >= 5);  // one before the first bar
  const std::size_t comma = cells[1].find(", ");
  return {.flag = cells[1].substr(0, comma),
          .environment = comma == std::string::npos ? "" : cells[1].substr(comma + 2),
          .key = cells[2].substr(0, cells[2].find(',')),  // "topology, a list"
          .fallback = cells[3]};
}

// The table under the first heading of docs/parameters.md, by flag.
std::map<std::string, Documented> ReadDocument() {
  std::ifstream file(HOLDFAST_SOURCE_DIR "/docs/parameters.md");
  REQUIRE(file.good());
  std::map<std::string, Documented> rows;
  for (std::string line; std::getline(file, line) && !line.starts_with("### ");) {
    if (!line.starts_with("| `--")) continue;
    const Documented row = ParseRow(line);
    rows.emplace(row.flag, row);
  }
  return rows;
}

TEST_CASE("docs/parameters.md states flag, key, variable and default of each setting") {
  std::map<std::string, Documented> documented = ReadDocument();
  for (const Setting& setting : Settings()) {
    CAPTURE(setting.flag);
    const auto row = documented.find(std::string(setting.flag));
    CHECK(row != documented.end());
    if (row == documented.end()) continue;
    CHECK(row->second.key == setting.key);
    CHECK(row->second.environment == setting.environment);
    CHECK(row->second.fallback == setting.fallback);
    documented.erase(row);
  }
  std::set<std::string> others;
  for (const auto& [flag, row] : documented) others.insert(flag);
  CHECK(others == std::set<std::string>{"--accept-moved-pool", "--config"});
}

TEST_CASE("a default that can be set is the one that Config has") {
  const Config defaults;
  Config config;
  for (const char* key : {"role", "endpoint", "stateDir", "driverName", "logLevel", "copyRate"}) {
    const Setting& setting = *FindSetting(key);
    REQUIRE_OK(setting.set(config, {std::string(setting.fallback)}, {}));
  }
  CHECK(config.role == defaults.role);
  CHECK(config.endpoint == defaults.endpoint);
  CHECK(config.state_dir == defaults.state_dir);
  CHECK(config.driver_name == defaults.driver_name);
  CHECK(config.log_level == defaults.log_level);
  CHECK(config.copy_rate == defaults.copy_rate);
  CHECK(FindSetting("maxVolumes")->fallback.starts_with(std::to_string(defaults.max_volumes)));
  CHECK(FindSetting("trimInterval")->fallback.starts_with(FormatTimeSpan(defaults.trim_interval)));
  CHECK(FindSetting("attach")->fallback == (defaults.attach ? "on" : "off"));
}

TEST_CASE("no two settings have a name in common") {
  std::set<std::string_view> names;
  for (const Setting& setting : Settings()) {
    CAPTURE(setting.key);
    CHECK(names.insert(setting.key).second);
    CHECK(names.insert(setting.flag).second);
    CHECK(FindSetting(setting.key) == &setting);
  }
  CHECK(FindSetting("statedir") == nullptr);
}

TEST_CASE("an unknown setting is named, with the closest one or all") {
  CHECK_FAILS(UnknownSetting("statedir"), kInvalidArgument,
              "unknown setting 'statedir'; did you mean 'stateDir'?");
  CHECK_FAILS(UnknownSetting("colour"), kInvalidArgument,
              "unknown setting 'colour'; known: role, endpoint");
}

}  // namespace settings_test
}  // namespace holdfast
