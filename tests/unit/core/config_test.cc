// SPDX-License-Identifier: Apache-2.0
#include "core/config.h"

#include <catch2/catch.hpp>
#include <string>

#include "support/known_pools.h"
#include "support/outcome.h"

namespace holdfast {
namespace config_test {

Config ValidConfig() {
  Config config;
  config.node_id = "node-1";
  config.pools.push_back(test::Value(test::ParseKnownPool("default=file:/srv/volumes")));
  return config;
}

TEST_CASE("roles by name") {
  CHECK(*ParseRole("all") == Role::kAll);
  CHECK(*ParseRole("controller") == Role::kController);
  CHECK(*ParseRole("node") == Role::kNode);
  CHECK_FAILS(ParseRole("both"), kInvalidArgument, "one of: all, controller, node");
}

TEST_CASE("a whole configuration is checked wherever it came from") {
  REQUIRE_OK(ValidateConfig(ValidConfig()));
  const auto broken = [](auto change) {
    Config config = ValidConfig();
    change(config);
    return ValidateConfig(config);
  };
  CHECK_FAILS(broken([](Config& c) { c.endpoint = "tcp://0.0.0.0:1"; }), kInvalidArgument,
              "endpoint 'tcp://0.0.0.0:1'");
  CHECK_FAILS(broken([](Config& c) { c.node_id = ""; }), kInvalidArgument, "node id ''");
  CHECK_FAILS(broken([](Config& c) { c.node_id = "a b"; }), kInvalidArgument, "node id 'a b'");
  CHECK_FAILS(broken([](Config& c) { c.state_dir = "state"; }), kInvalidArgument, "'state'");
  CHECK_FAILS(broken([](Config& c) { c.max_volumes = -1; }), kInvalidArgument, "maxVolumes");
  CHECK_FAILS(broken([](Config& c) { c.copy_rate = 1000; }), kInvalidArgument, "copyRate");
  CHECK_FAILS(broken([](Config& c) {
                c.role = Role::kController;
                c.trim_interval = std::chrono::hours(1);
              }),
              kInvalidArgument, "trimInterval is for roles node and all");
  CHECK_FAILS(broken([](Config& c) { c.pools.clear(); }), kInvalidArgument, "no pool");
  CHECK_FAILS(broken([](Config& c) { c.pools.push_back(c.pools.front()); }), kInvalidArgument,
              "two pools are named");
  CHECK_FAILS(broken([](Config& c) {
                c.pools.push_back(c.pools.front());
                c.pools.back().name = "other";
              }),
              kInvalidArgument, "are the same place");
  for (const char* name : {"", "-a", "a.", "1a", "a_b", "a/b"}) {
    CHECK_FAILS(broken([&](Config& c) { c.driver_name = name; }), kInvalidArgument, "driver name");
  }
  CHECK_FAILS(broken([](Config& c) { c.driver_name = std::string(64, 'a'); }), kInvalidArgument,
              "63 characters");
  REQUIRE_OK(broken([](Config& c) { c.driver_name = std::string(63, 'a'); }));
}

TEST_CASE("a node's topology is its own to say, but for the driver's key") {
  Config config = ValidConfig();
  config.topology = {{"topology.kubernetes.io/zone", "a"}, {"topology.csi.holdfast.dev/zone", "a"}};
  for (const Role role : {Role::kAll, Role::kNode}) {
    config.role = role;
    REQUIRE_OK(ValidateConfig(config));
  }
  config.role = Role::kController;
  CHECK_FAILS(ValidateConfig(config), kInvalidArgument, "topology is for roles node and all");
  config.role = Role::kNode;
  for (const char* key : {"topology.csi.holdfast.dev/node", "topology.csi.holdfast.dev/Node"}) {
    config.topology.back().key = key;
    CHECK_FAILS(ValidateConfig(config), kInvalidArgument,
                "topology: key 'topology.csi.holdfast.dev/node' is the driver's own");
  }
  config.driver_name = "csi.example.org";
  REQUIRE_OK(ValidateConfig(config));
}

TEST_CASE("the link's settings fit the role") {
  const auto linked = [](Role role, auto change) {
    Config config = ValidConfig();
    config.role = role;
    config.link_tls = "/etc/holdfast/tls";
    change(config);
    return ValidateConfig(config);
  };
  REQUIRE_OK(linked(Role::kNode, [](Config& c) { c.link_controller = "c:9443"; }));
  REQUIRE_OK(linked(Role::kController, [](Config& c) {
    c.link_listen = "0.0.0.0:9443";
    c.pools.clear();
  }));
  CHECK_FAILS(linked(Role::kController, [](Config& c) { c.link_listen = "0.0.0.0:9443"; }),
              kInvalidArgument, "has no file pools");
  CHECK_FAILS(linked(Role::kController, [](Config& c) { c.link_controller = "c:9443"; }),
              kInvalidArgument, "roles node and all");
  CHECK_FAILS(linked(Role::kNode, [](Config& c) { c.link_listen = "0.0.0.0:9443"; }),
              kInvalidArgument, "role controller");
  CHECK_FAILS(linked(Role::kNode,
                     [](Config& c) {
                       c.link_controller = "c:9443";
                       c.link_tls = "tls";
                     }),
              kInvalidArgument, "absolute path");
}

TEST_CASE("tokens are believed by a policy that is whole") {
  const auto controller = [](auto change) {
    Config config = ValidConfig();
    config.role = Role::kController;
    config.pools.clear();
    config.link_listen = ":9443";
    config.link_tls = "/etc/holdfast/tls";
    config.link_token_keys = "https://kubernetes.default.svc/openid/v1/jwks";
    config.link_token_audience = "holdfast";
    config.link_token_subject = "system:serviceaccount:storage:node";
    change(config);
    return ValidateConfig(config);
  };
  REQUIRE_OK(controller([](Config&) {}));
  REQUIRE_OK(controller([](Config& c) { c.link_token_keys = "/etc/keys.json"; }));
  CHECK_FAILS(controller([](Config& c) { c.link_token_audience.clear(); }), kInvalidArgument,
              "go together");
  CHECK_FAILS(controller([](Config& c) { c.link_token_keys = "http://insecure/keys"; }),
              kInvalidArgument, "https URL");
  CHECK_FAILS(controller([](Config& c) { c.link_token_keys = "https://host"; }), kInvalidArgument,
              "with a path");
  CHECK_FAILS(controller([](Config& c) { c.link_token = "/token"; }), kInvalidArgument,
              "linkController");
}

TEST_CASE("addresses are checked by name") {
  Config config = ValidConfig();
  config.health_address = "9808";
  CHECK_FAILS(ValidateConfig(config), kInvalidArgument, "healthAddress");
}

TEST_CASE("metrics of volumes are served where metrics are") {
  Config config = ValidConfig();
  config.volume_metrics = true;
  CHECK_FAILS(ValidateConfig(config), kInvalidArgument, "metricsAddress");
  config.metrics_address = ":9809";
  REQUIRE_OK(ValidateConfig(config));
}

TEST_CASE("a controller that attaches knows its nodes") {
  Config config = ValidConfig();
  CHECK_FALSE(config.attach);
  config.attach = true;
  for (const Role role : {Role::kAll, Role::kNode}) {
    config.role = role;
    REQUIRE_OK(ValidateConfig(config));
  }
  config.role = Role::kController;
  CHECK_FAILS(ValidateConfig(config), kInvalidArgument, "linkListen");
}

TEST_CASE("the path of a CSI endpoint") {
  CHECK(*SocketPath("unix:///run/x.sock") == "/run/x.sock");
  CHECK(*SocketPath("unix:/run/x.sock") == "/run/x.sock");
  CHECK(*SocketPath("/run/x.sock") == "/run/x.sock");
  for (const char* endpoint : {"", "unix:", "unix://", "unix:x.sock", "x.sock", "tcp://h:1"}) {
    CAPTURE(endpoint);
    CHECK_FAILS(SocketPath(endpoint), kInvalidArgument, "must be a Unix socket");
  }
  CHECK(SocketPath("/" + std::string(106, 'x')).ok());
  CHECK_FAILS(SocketPath("/" + std::string(107, 'x')), kInvalidArgument, "longer than 107");
}

}  // namespace config_test
}  // namespace holdfast
