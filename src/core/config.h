// SPDX-License-Identifier: Apache-2.0
// The configuration of `holdfast serve`, wherever it comes from, and what must hold for it. A new
// member is also a row of the table in core/settings.cc.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/log.h"
#include "core/lost_pool.h"
#include "core/pool_config.h"
#include "core/topology_segment.h"

namespace holdfast {

enum class Role { kAll, kController, kNode };

// INVALID_ARGUMENT unless "all", "controller" or "node".
[[nodiscard]] absl::StatusOr<Role> ParseRole(std::string_view text);

struct Config {
  Role role = Role::kAll;
  std::string endpoint = "unix:///run/holdfast/csi.sock";
  std::string node_id;  // empty for a controller with a link, which is on no node
  std::string state_dir = "/var/lib/holdfast";
  std::string driver_name = "csi.holdfast.dev";
  LogLevel log_level = LogLevel::kInfo;
  bool attach = false;  // volumes are published to a node by the controller before it stages them
  std::int64_t max_volumes = 0;  // per node, for the scheduler; 0: no limit
  Bytes copy_rate = 200 * kMiB;  // per second, of contents that come or go; 0: no limit
  // How often free space of thin volumes is given back (FITRIM); 0: never.
  std::chrono::seconds trim_interval{0};
  std::vector<TopologySegment> topology;  // of the node, beside its own
  std::vector<PoolConfig> pools;
  std::vector<LostPool> lost_pools;  // of nodes, which a controller need not wait for any more
  // HOST:PORT each; empty: not served.
  std::string health_address;   // HTTP /healthz and /readyz
  std::string metrics_address;  // HTTP /metrics
  bool volume_metrics = false;  // ... with what each volume occupies
  std::string events_api;  // role controller: https://HOST[:PORT] of the API server; empty: none
  // kubelet's plugins_registry, for a node that registers itself; empty: node-driver-registrar does
  // that.
  std::string kubelet_registration_dir;
  // The link between nodes and controller; empty: there is none.
  std::string link_listen;      // role controller: HOST:PORT to take nodes on
  std::string link_controller;  // role node or all: HOST:PORT of the controller
  std::string link_tls;         // directory with tls.crt, tls.key and ca.crt
  std::string link_token;       // role node or all: file with the pod's ServiceAccount token
  // role controller: which tokens are believed; empty: the certificate must name the node.
  std::string link_token_keys;      // https URL or file of the cluster's JSON Web Key Set
  std::string link_token_audience;  // that the token is for
  std::string link_token_subject;   // ServiceAccount of the nodes' pods
};

// INVALID_ARGUMENT naming the setting, for what must hold wherever it came from: node id and driver
// name well-formed, endpoint a Unix socket, at least one pool (none for a controller with a link),
// and the link's settings as the role needs them.
[[nodiscard]] absl::Status ValidateConfig(const Config& config);

// The file system path of a CSI endpoint: unix:///x.sock, unix:/x.sock or /x.sock; at most 107
// bytes (unix(7)). INVALID_ARGUMENT otherwise.
[[nodiscard]] absl::StatusOr<std::string> SocketPath(const std::string& endpoint);

}  // namespace holdfast
