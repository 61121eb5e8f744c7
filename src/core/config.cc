// SPDX-License-Identifier: Apache-2.0
#include "core/config.h"

#include <algorithm>
#include <cctype>

#include "core/host_port.h"
#include "core/volume_id.h"

namespace holdfast {
namespace {

// A piece must not take longer than a second.
constexpr Bytes kLeastCopyRate = kMiB;

constexpr std::size_t kMaxSocketPath = 107;  // sun_path without its NUL, unix(7)
constexpr std::size_t kMaxDriverName = 63;   // CSI spec, GetPluginInfoResponse.name

absl::Status ValidateDriverName(std::string_view name) {
  const auto inner = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '.'; };
  if (name.empty() || name.size() > kMaxDriverName || !std::ranges::all_of(name, inner) ||
      !std::isalpha(static_cast<unsigned char>(name.front())) ||
      !std::isalpha(static_cast<unsigned char>(name.back()))) {
    return InvalidArgument("driver name '{}' must be a domain name of at most {} characters", name,
                           kMaxDriverName);
  }
  return absl::OkStatus();
}

absl::Status ValidateTopology(const Config& config) {
  if (!config.topology.empty() && config.role == Role::kController) {
    return InvalidArgument("topology is for roles node and all: a controller is on no node");
  }
  const std::string own = NodeTopologyKey(config.driver_name);
  for (const TopologySegment& segment : config.topology) {
    if (!IsSameTopologyKey(segment.key, own)) continue;
    return InvalidArgument("topology: key '{}' is the driver's own, its value is the node id", own);
  }
  return absl::OkStatus();
}

absl::Status ValidateLink(const Config& config) {
  if (!config.link_listen.empty() && config.role != Role::kController) {
    return InvalidArgument("linkListen is for role controller: nodes dial it");
  }
  if (!config.link_controller.empty() && config.role == Role::kController) {
    return InvalidArgument("linkController is for roles node and all: they dial the controller");
  }
  if (!config.lost_pools.empty() && config.link_listen.empty()) {
    return InvalidArgument("lostPools is for a controller with linkListen: it concerns its nodes");
  }
  if (!config.events_api.empty() &&
      (config.link_listen.empty() || !config.events_api.starts_with("https://") ||
       config.events_api.find('/', std::string_view("https://").size()) != std::string::npos)) {
    return InvalidArgument(
        "eventsApi '{}' must be https://HOST[:PORT], on a controller with linkListen",
        config.events_api);
  }
  const bool linked = !config.link_listen.empty() || !config.link_controller.empty();
  if (linked && !config.link_tls.starts_with('/')) {
    return InvalidArgument(
        "linkTls must be the absolute path of a directory with tls.crt, tls.key and ca.crt: the "
        "link is never without certificates");
  }
  return absl::OkStatus();
}

absl::Status ValidateToken(const Config& config) {
  if (!config.link_token.empty() && config.link_controller.empty()) {
    return InvalidArgument(
        "linkToken needs linkController: the token is presented to that controller");
  }
  const std::string* const policy[] = {&config.link_token_keys, &config.link_token_audience,
                                       &config.link_token_subject};
  const auto given = [](const std::string* setting) { return !setting->empty(); };
  if (std::ranges::none_of(policy, given)) return absl::OkStatus();
  if (!std::ranges::all_of(policy, given) || config.link_listen.empty()) {
    return InvalidArgument(
        "linkTokenKeys, linkTokenAudience and linkTokenSubject go together, with linkListen");
  }
  const std::string_view keys = config.link_token_keys;
  if (!keys.starts_with('/') && (!keys.starts_with("https://") || keys.find('/', 8) == keys.npos)) {
    return InvalidArgument(
        "linkTokenKeys '{}' must be an https URL with a path, or the absolute path of a file",
        keys);
  }
  return absl::OkStatus();
}

absl::Status ValidateAddresses(const Config& config) {
  const std::pair<const char*, const std::string*> addresses[] = {
      {"healthAddress", &config.health_address},
      {"metricsAddress", &config.metrics_address},
      {"linkListen", &config.link_listen}};
  for (const auto& [name, address] : addresses) {
    if (!address->empty()) RETURN_IF_ERROR(Annotate(ParseHostPort(*address).status(), name));
  }
  return absl::OkStatus();
}

absl::Status RequireDistinct(const std::vector<PoolConfig>& pools) {
  for (auto pool = pools.begin(); pool != pools.end(); ++pool) {
    for (auto before = pools.begin(); before != pool; ++before) {
      if (pool->name == before->name)
        return InvalidArgument("two pools are named '{}'", pool->name);
      if (IsSameStorage(*pool, *before)) {
        return InvalidArgument("pools '{}' and '{}' are the same place, '{}'", before->name,
                               pool->name, pool->location);
      }
    }
  }
  return absl::OkStatus();
}

// Behind a link a controller has the pools that need no node.
absl::Status ValidatePools(const Config& config) {
  if (config.link_listen.empty()) {
    if (!config.pools.empty()) return absl::OkStatus();
    if (config.role == Role::kController) {
      return InvalidArgument(
          "a controller has neither nodes nor pools: give --link-listen, where its nodes connect, "
          "or --pool=NAME=KIND:LOCATION");
    }
    return InvalidArgument(
        "no pool is configured; give --pool=NAME=KIND:LOCATION (see holdfast serve --help)");
  }
  for (const PoolConfig& pool : config.pools) {
    if (pool.syntax->is_shared) continue;
    return InvalidArgument("pool '{}': a controller with a link has no {} pools: the nodes do",
                           pool.name, pool.syntax->kind);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Role> ParseRole(std::string_view text) {
  if (text == "all") return Role::kAll;
  if (text == "controller") return Role::kController;
  if (text == "node") return Role::kNode;
  return InvalidArgument("role '{}' must be one of: all, controller, node", text);
}

absl::Status ValidateConfig(const Config& config) {
  RETURN_IF_ERROR(SocketPath(config.endpoint).status());
  const bool on_no_node = !config.link_listen.empty() && config.node_id.empty();
  if (!on_no_node) RETURN_IF_ERROR(ValidateNodeId(config.node_id));
  RETURN_IF_ERROR(ValidateDriverName(config.driver_name));
  if (!config.state_dir.starts_with('/')) {
    return InvalidArgument("state directory '{}' must be an absolute path", config.state_dir);
  }
  if (config.max_volumes < 0) return InvalidArgument("maxVolumes must not be negative");
  if (config.copy_rate != 0 && config.copy_rate < kLeastCopyRate) {
    return InvalidArgument("copyRate must be 0 or at least {}", FormatBytes(kLeastCopyRate));
  }
  if (!config.kubelet_registration_dir.empty() && config.role == Role::kController) {
    return InvalidArgument(
        "kubeletRegistrationDir is for a node: a controller has no Node service");
  }
  if (config.trim_interval.count() != 0 && config.role == Role::kController) {
    return InvalidArgument("trimInterval is for roles node and all: a controller mounts nothing");
  }
  if (config.attach && config.role == Role::kController && config.link_listen.empty()) {
    return InvalidArgument(
        "attach needs a controller that knows its nodes: role all, or linkListen");
  }
  if (config.volume_metrics && config.metrics_address.empty()) {
    return InvalidArgument("volumeMetrics needs metricsAddress, where metrics are served");
  }
  RETURN_IF_ERROR(ValidateAddresses(config));
  RETURN_IF_ERROR(ValidateTopology(config));
  RETURN_IF_ERROR(ValidateLink(config));
  RETURN_IF_ERROR(ValidateToken(config));
  RETURN_IF_ERROR(ValidatePools(config));
  return RequireDistinct(config.pools);
}

absl::StatusOr<std::string> SocketPath(const std::string& endpoint) {
  std::string path = endpoint;
  if (path.starts_with("unix:")) path.erase(0, 5);
  if (path.starts_with("//")) path.erase(0, 2);
  if (!path.starts_with('/')) {
    return InvalidArgument("endpoint '{}' must be a Unix socket such as unix:///run/holdfast.sock",
                           endpoint);
  }
  if (path.size() > kMaxSocketPath) {
    return InvalidArgument("endpoint '{}' is longer than {} bytes, the most a Unix socket can have",
                           endpoint, kMaxSocketPath);
  }
  return path;
}

}  // namespace holdfast
