// SPDX-License-Identifier: Apache-2.0
#include "core/settings.h"

#include <algorithm>
#include <charconv>

#include "core/time_span.h"
#include "core/unknown_name.h"

namespace holdfast {
namespace {

using Texts = std::vector<std::string>;

template <std::string Config::*member>
absl::Status SetText(Config& config, const Texts& texts, PoolSyntaxes) {
  config.*member = texts.front();
  return absl::OkStatus();
}

absl::Status SetRole(Config& config, const Texts& texts, PoolSyntaxes) {
  ASSIGN_OR_RETURN(config.role, ParseRole(texts.front()));
  return absl::OkStatus();
}

absl::Status SetLogLevel(Config& config, const Texts& texts, PoolSyntaxes) {
  ASSIGN_OR_RETURN(config.log_level, ParseLogLevel(texts.front()));
  return absl::OkStatus();
}

template <bool Config::*member>
absl::Status SetSwitch(Config& config, const Texts& texts, PoolSyntaxes) {
  const std::string& text = texts.front();
  config.*member = text == "true";
  if (text == "true" || text == "false") return absl::OkStatus();
  return InvalidArgument("'{}' must be true or false", text);
}

absl::Status SetMaxVolumes(Config& config, const Texts& texts, PoolSyntaxes) {
  const std::string& text = texts.front();
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), config.max_volumes);
  if (error == std::errc() && end == text.data() + text.size()) return absl::OkStatus();
  return InvalidArgument("'{}' must be a whole number", text);
}

absl::Status SetCopyRate(Config& config, const Texts& texts, PoolSyntaxes) {
  ASSIGN_OR_RETURN(config.copy_rate, ParseBytes(texts.front()));
  return absl::OkStatus();
}

absl::Status SetTrimInterval(Config& config, const Texts& texts, PoolSyntaxes) {
  ASSIGN_OR_RETURN(config.trim_interval, ParseTimeSpan(texts.front()));
  return absl::OkStatus();
}

absl::Status SetTopology(Config& config, const Texts& texts, PoolSyntaxes) {
  ASSIGN_OR_RETURN(config.topology, ParseNodeTopology(texts));
  return absl::OkStatus();
}

absl::Status SetLostPools(Config& config, const Texts& texts, PoolSyntaxes) {
  ASSIGN_OR_RETURN(config.lost_pools, ParseLostPools(texts));
  return absl::OkStatus();
}

absl::Status SetPools(Config& config, const Texts& texts, PoolSyntaxes kinds) {
  config.pools.clear();
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(PoolConfig pool, ParsePool(text, kinds));
    config.pools.push_back(std::move(pool));
  }
  return absl::OkStatus();
}

using enum SettingType;

constexpr Setting kSettings[] = {
    {"role", "--role", kText, "ROLE", "all",
     "all, controller or node: the CSI services to serve beside Identity", SetRole},
    {"endpoint", "--endpoint", kText, "SOCKET", "unix:///run/holdfast/csi.sock",
     "Unix socket to serve on", SetText<&Config::endpoint>, "CSI_ENDPOINT"},
    {"nodeId", "--node-id", kText, "NAME", "host name",
     "Name of this node, stable for its life; a controller with a link has none",
     SetText<&Config::node_id>},
    {"stateDir", "--state-dir", kText, "DIRECTORY", "/var/lib/holdfast",
     "Directory for Holdfast's own state", SetText<&Config::state_dir>},
    {"driverName", "--driver-name", kText, "NAME", "csi.holdfast.dev", "CSI driver name",
     SetText<&Config::driver_name>},
    {"pools", "--pool", kPools, "POOL", "none",
     "NAME=KIND:LOCATION[,key=value...]; repeatable, the first is the default pool", SetPools},
    {"lostPools", "--lost-pool", kList, "NODE/POOL=ID", "none",
     "For a controller: a node's pool whose storage is gone for good, so that its volumes can be "
     "deleted; repeatable",
     SetLostPools},
    {"attach", "--attach", kSwitch, "", "off",
     "Volumes are published to a node (ControllerPublishVolume) before it stages them; for "
     "controller and nodes alike",
     SetSwitch<&Config::attach>},
    {"topology", "--topology", kList, "KEY=VALUE", "none",
     "Where this node is, such as topology.kubernetes.io/zone=a, for pools that not every node "
     "reaches; repeatable; one without a value is omitted",
     SetTopology},
    {"maxVolumes", "--max-volumes", kNumber, "NUMBER", "0 (no limit)",
     "Most volumes on this node, reported to the scheduler", SetMaxVolumes},
    {"copyRate", "--copy-rate", kText, "SIZE", "200Mi",
     "Most bytes per second that this process sends to other nodes, and as many that it takes; 0: "
     "no limit",
     SetCopyRate},
    {"trimInterval", "--trim-interval", kText, "TIME", "0 (never)",
     "How often the node gives free space of its thin filesystem volumes back, slowly (as fstrim): "
     "24h, 7d",
     SetTrimInterval},
    {"kubeletRegistrationDir", "--kubelet-registration-dir", kText, "DIRECTORY", "none",
     "kubelet's plugins_registry: the node registers itself there, without node-driver-registrar",
     SetText<&Config::kubelet_registration_dir>},
    {"linkListen", "--link-listen", kText, "HOST:PORT", "none",
     "Where a controller accepts nodes; its own pools must then be shared ones",
     SetText<&Config::link_listen>},
    {"linkController", "--link-controller", kText, "HOST:PORT", "none",
     "The controller that a node dials", SetText<&Config::link_controller>},
    {"linkTls", "--link-tls", kText, "DIRECTORY", "none",
     "Directory with tls.crt, tls.key and ca.crt for the link", SetText<&Config::link_tls>},
    {"linkToken", "--link-token", kText, "FILE", "none",
     "File with the pod's ServiceAccount token, shown to the controller",
     SetText<&Config::link_token>},
    {"linkTokenKeys", "--link-token-keys", kText, "URL|FILE", "none",
     "https URL or file of the keys that sign these tokens: the token then says which node it is, "
     "instead of the certificate",
     SetText<&Config::link_token_keys>},
    {"linkTokenAudience", "--link-token-audience", kText, "AUDIENCE", "none",
     "Audience that a node's token must be for", SetText<&Config::link_token_audience>},
    {"linkTokenSubject", "--link-token-subject", kText, "SUBJECT", "none",
     "ServiceAccount of the nodes, system:serviceaccount:NAMESPACE:NAME",
     SetText<&Config::link_token_subject>},
    {"healthAddress", "--health-address", kText, "HOST:PORT", "none",
     "Where to serve HTTP /healthz and /readyz", SetText<&Config::health_address>},
    {"metricsAddress", "--metrics-address", kText, "HOST:PORT", "none",
     "Where to serve HTTP /metrics; may be the health address", SetText<&Config::metrics_address>},
    {"volumeMetrics", "--volume-metrics", kSwitch, "", "off",
     "The metrics also tell the size of each volume and what it occupies",
     SetSwitch<&Config::volume_metrics>},
    {"eventsApi", "--events-api", kText, "URL", "none",
     "For a controller in a pod: https URL of the API server, to which it reports problems as "
     "events "
     "of nodes and claims",
     SetText<&Config::events_api>},
    {"logLevel", "--log-level", kText, "LEVEL", "info", "debug, info, warning or error",
     SetLogLevel},
};

}  // namespace

std::span<const Setting> Settings() { return kSettings; }

const Setting* FindSetting(std::string_view key) {
  const auto* const found = std::ranges::find(kSettings, key, &Setting::key);
  return found == std::end(kSettings) ? nullptr : found;
}

absl::Status UnknownSetting(std::string_view key) {
  std::vector<std::string_view> keys;
  std::ranges::transform(kSettings, std::back_inserter(keys), &Setting::key);
  return UnknownName("setting", key, keys);
}

}  // namespace holdfast
