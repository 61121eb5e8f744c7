// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_flags.h"

#include <unistd.h>

#include <algorithm>

namespace holdfast::cli {
namespace {

void Override(std::string& setting, const std::string& flag) {
  if (!flag.empty()) setting = flag;
}

}  // namespace

void AddServeFlags(CLI::App& serve, ServeFlags& flags) {
  serve.add_option("--role", flags.role, "all (default), controller or node");
  serve
      .add_option("--endpoint", flags.endpoint,
                  "Unix socket to serve on (default unix:///run/holdfast/csi.sock)")
      ->envname("CSI_ENDPOINT");
  serve.add_option(
      "--node-id", flags.node_id,
      "Name of this node, stable for its life (default: the host's name); a controller "
      "with a link has none");
  serve.add_option("--state-dir", flags.state_dir,
                   "Directory for Holdfast's own state (default /var/lib/holdfast)");
  serve
      .add_option("--pool", flags.pools,
                  "NAME=file:DIRECTORY or NAME=rbd:CEPHPOOL[/NAMESPACE], then [,key=value...]; "
                  "repeatable, the first is the default pool")
      ->take_all();
  serve.add_option(
      "--accept-moved-pool", flags.moved_pools,
      "NAME of a pool that was copied to another filesystem on purpose; for one start");
  serve.add_option("--driver-name", flags.driver_name, "CSI name (default csi.holdfast.dev)");
  serve.add_flag("--attach", flags.attach,
                 "Volumes are published to a node (ControllerPublishVolume) before it stages them; "
                 "for controller and nodes alike");
  serve.add_option("--max-volumes", flags.max_volumes,
                   "Volumes this node takes, for the scheduler; 0: no limit (default)");
  serve
      .add_option("--topology", flags.topology,
                  "KEY=VALUE, repeatable: where this node is, such as "
                  "topology.kubernetes.io/zone=a, for rbd pools that not every node reaches; left "
                  "out without a value")
      ->take_all();
  serve.add_option("--kubelet-registration-dir", flags.kubelet_registration_dir,
                   "kubelet's plugins_registry: the node registers itself there, without "
                   "node-driver-registrar");
  serve.add_option("--link-listen", flags.link_listen,
                   "HOST:PORT on which a controller takes nodes; it has only rbd pools then");
  serve.add_option("--link-controller", flags.link_controller,
                   "HOST:PORT of the controller that a node dials");
  serve.add_option("--link-tls", flags.link_tls,
                   "Directory with tls.crt, tls.key and ca.crt for the link");
  serve.add_option("--link-token", flags.link_token,
                   "File with the pod's ServiceAccount token, shown to the controller");
  serve.add_option("--link-token-keys", flags.link_token_keys,
                   "https URL or file of the keys that sign these tokens: the token then says "
                   "which node it is, instead of the certificate");
  serve.add_option("--link-token-audience", flags.link_token_audience,
                   "Audience that a node's token must be for");
  serve.add_option("--link-token-subject", flags.link_token_subject,
                   "ServiceAccount of the nodes, system:serviceaccount:NAMESPACE:NAME");
  serve.add_option("--health-address", flags.health_address,
                   "HOST:PORT for HTTP /healthz and /readyz (default: none)");
  serve.add_option("--metrics-address", flags.metrics_address,
                   "HOST:PORT for HTTP /metrics; may be the health address (default: none)");
  serve.add_option("--log-level", flags.log_level, "debug, info (default), warning or error");
  serve.add_option("--config", flags.config_path, "YAML file with the same settings");
}

absl::StatusOr<Config> BuildConfig(const ServeFlags& flags) {
  Config config;
  if (!flags.config_path.empty()) {
    ASSIGN_OR_RETURN(config, LoadConfig(flags.config_path));
  }
  if (!flags.role.empty()) {
    ASSIGN_OR_RETURN(config.role, ParseRole(flags.role));
  }
  if (!flags.log_level.empty()) {
    ASSIGN_OR_RETURN(config.log_level, ParseLogLevel(flags.log_level));
  }
  Override(config.endpoint, flags.endpoint);
  Override(config.node_id, flags.node_id);
  Override(config.state_dir, flags.state_dir);
  Override(config.driver_name, flags.driver_name);
  Override(config.kubelet_registration_dir, flags.kubelet_registration_dir);
  Override(config.link_listen, flags.link_listen);
  Override(config.link_controller, flags.link_controller);
  Override(config.link_tls, flags.link_tls);
  Override(config.link_token, flags.link_token);
  Override(config.link_token_keys, flags.link_token_keys);
  Override(config.link_token_audience, flags.link_token_audience);
  Override(config.link_token_subject, flags.link_token_subject);
  Override(config.health_address, flags.health_address);
  Override(config.metrics_address, flags.metrics_address);
  if (flags.attach) config.attach = true;
  if (flags.max_volumes) config.max_volumes = *flags.max_volumes;
  if (!flags.pools.empty()) config.pools.clear();
  for (const std::string& text : flags.pools) {
    ASSIGN_OR_RETURN(PoolConfig pool, ParsePool(text));
    config.pools.push_back(std::move(pool));
  }
  if (!flags.topology.empty()) {
    const auto topology = ParseNodeTopology(flags.topology);
    RETURN_IF_ERROR(Annotate(topology.status(), "topology"));
    config.topology = *topology;
  }
  for (const std::string& name : flags.moved_pools) {
    const auto moved = std::ranges::find(config.pools, name, &PoolConfig::name);
    if (moved == config.pools.end()) return InvalidArgument("there is no pool '{}'", name);
    moved->accept_move = true;
  }
  if (!config.link_listen.empty()) {
    config.node_id.clear();  // it is on no node, and no Node's name may be its own
  } else if (config.node_id.empty()) {
    char name[256] = {};
    if (::gethostname(name, sizeof(name) - 1) == 0) config.node_id = name;
  }
  return config;
}

}  // namespace holdfast::cli
