// SPDX-License-Identifier: Apache-2.0
#include "rbd/monitor_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace holdfast::rbd {
namespace {

using nlohmann::json;

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
