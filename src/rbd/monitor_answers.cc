// SPDX-License-Identifier: Apache-2.0
#include "rbd/monitor_answers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

namespace holdfast::rbd {
namespace {

using nlohmann::json;

// Errors that stop no request for an image's data: of CephFS, of managers, and of versions.
constexpr std::array<std::string_view, 4> kOtherServices = {"MDS_", "FS_", "MGR_",
                                                            "DAEMON_OLD_VERSION"};
// Warnings that do.
constexpr std::array<std::string_view, 3> kNotServed = {"OBJECT_UNFOUND", "PG_AVAILABILITY",
                                                        "POOL_FULL"};
// Ceph cuts longer details (mon_health_max_detail).
constexpr std::size_t kMostDetails = 50;

absl::Status Unreadable(const json::exception& error) {
  return Internal("the Ceph monitors' answer is not what it should be: {}", error.what());
}

std::vector<std::string> AddressesOf(const json& monitors, const std::string& protocol) {
  std::vector<std::string> addresses;
  for (const json& monitor : monitors) {
    for (const json& address : monitor.at("public_addrs").at("addrvec")) {
      if (address.at("type") == protocol) addresses.push_back(address.at("addr"));
    }
  }
  return addresses;
}

// What a line of a check's details begins with if it is about one pool: "pg 3.1f is stuck ...",
// "pool 'rbd' is full ...".
bool NamesPool(std::string_view line) {
  return line.starts_with("pg ") || line.starts_with("pool '");
}
bool NamesOneOf(std::string_view line, const std::vector<NamedPool>& pools) {
  return std::ranges::any_of(pools, [&](const NamedPool& pool) {
    return line.starts_with(fmt::format("pg {}.", pool.id)) ||
           line.starts_with(fmt::format("pool '{}' ", pool.name));
  });
}

bool IsOfOthers(const json& check, const std::vector<NamedPool>& pools) {
  const json& details = check.at("detail");
  if (details.empty() || details.size() >= kMostDetails) return false;
  return std::ranges::all_of(details, [&](const json& detail) {
    const std::string line = detail.at("message");
    return NamesPool(line) && !NamesOneOf(line, pools);
  });
}

// Whether a check of that name says that requests for data are not served or data is damaged.
bool ConcernsData(std::string_view name, const json& check) {
  if (check.at("severity") == "HEALTH_ERR") {
    return std::ranges::none_of(kOtherServices,
                                [&](auto other) { return name.starts_with(other); });
  }
  if (name != "OSDMAP_FLAGS") return std::ranges::count(kNotServed, name) > 0;
  // "pauserd,pausewr,noout flag(s) set"
  const std::string flags = ',' + check.at("summary").at("message").get<std::string>();
  return flags.find(",full") != std::string::npos || flags.find(",pause") != std::string::npos;
}

}  // namespace

absl::StatusOr<std::optional<PoolStatistics>> AskStatistics(Cluster& cluster,
                                                            const std::string& name) {
  ASSIGN_OR_RETURN(
      const std::string answer,
      cluster.AskMonitors(R"({"prefix": "df", "detail": "detail", "format": "json"})"));
  return ParseStatistics(answer, name);
}

absl::StatusOr<std::optional<PoolStatistics>> ParseStatistics(const std::string& answer,
                                                              const std::string& name) {
  try {
    const json object = json::parse(answer);
    if (object.at("stats").at("total_bytes").get<Bytes>() == 0) {
      return std::optional<PoolStatistics>();
    }
    for (const json& pool : object.at("pools")) {
      if (pool.at("name") != name) continue;
      const json& stats = pool.at("stats");
      Bytes available = stats.at("max_avail").get<Bytes>();
      const Bytes stored = stats.at("stored").get<Bytes>();
      const Bytes quota = stats.value("quota_bytes", Bytes{0});
      if (quota > 0) available = std::min(available, quota - stored);
      return PoolStatistics{.stored = stored, .available = std::max<Bytes>(0, available)};
    }
    return std::optional<PoolStatistics>();  // made so recently that nothing was counted yet
  } catch (const json::exception& error) {
    return Unreadable(error);
  }
}

absl::StatusOr<bool> IsFenced(Cluster& cluster, const std::string& address) {
  ASSIGN_OR_RETURN(const std::string answer,
                   cluster.AskMonitors(R"({"prefix": "osd blocklist ls", "format": "json"})"));
  return ParseFenced(answer, address);
}

absl::StatusOr<bool> ParseFenced(const std::string& answer, const std::string& address) {
  // One list after the other, with nothing between: of clients, and of ranges of addresses.
  std::istringstream lists(answer);
  bool fenced = false;
  try {
    do {
      json list;
      lists >> list;
      for (const json& client : list) fenced |= client.at("addr") == address;
    } while (!(lists >> std::ws).eof());
  } catch (const json::exception& error) {
    return Unreadable(error);
  }
  return fenced;
}

absl::StatusOr<std::string> AskDataProblem(Cluster& cluster, const std::vector<NamedPool>& pools) {
  ASSIGN_OR_RETURN(
      const std::string answer,
      cluster.AskMonitors(R"({"prefix": "health", "detail": "detail", "format": "json"})"));
  return ParseDataProblem(answer, pools);
}

absl::StatusOr<std::string> ParseDataProblem(const std::string& answer,
                                             const std::vector<NamedPool>& pools) {
  std::vector<std::string> problems;
  try {
    const json health = json::parse(answer);
    for (const auto& [name, check] : health.at("checks").items()) {
      if (check.value("muted", false) || !ConcernsData(name, check)) continue;
      if (IsOfOthers(check, pools)) continue;
      const std::string summary = check.at("summary").at("message");
      problems.push_back(fmt::format("{} ({})", name, summary));
    }
  } catch (const json::exception& error) {
    return Unreadable(error);
  }
  return fmt::format("{}", fmt::join(problems, ", "));
}

absl::StatusOr<MonitorAddresses> AskMonitorAddresses(Cluster& cluster) {
  ASSIGN_OR_RETURN(const std::string answer,
                   cluster.AskMonitors(R"({"prefix": "mon dump", "format": "json"})"));
  return ParseMonitorAddresses(answer);
}

absl::StatusOr<MonitorAddresses> ParseMonitorAddresses(const std::string& answer) {
  try {
    const json monitors = json::parse(answer).at("mons");
    const std::vector<std::string> first = AddressesOf(monitors, "v1");
    if (!first.empty()) return MonitorAddresses{.addresses = first, .messenger_v2 = false};
    return MonitorAddresses{.addresses = AddressesOf(monitors, "v2"), .messenger_v2 = true};
  } catch (const json::exception& error) {
    return Unreadable(error);
  }
}

}  // namespace holdfast::rbd
