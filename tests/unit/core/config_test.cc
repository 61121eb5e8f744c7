// SPDX-License-Identifier: Apache-2.0
#include "core/config.h"

#include <catch2/catch.hpp>
#include <string>

#include "os/file.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast {
namespace {

Config ValidConfig() {
  Config config;
  config.node_id = "node-1";
  config.pools.push_back(test::Value(ParsePool("default=file:/srv/volumes")));
  return config;
}

TEST_CASE("roles by name") {
  CHECK(*ParseRole("all") == Role::kAll);
  CHECK(*ParseRole("controller") == Role::kController);
  CHECK(*ParseRole("node") == Role::kNode);
  CHECK_FAILS(ParseRole("both"), kInvalidArgument, "none of: all, controller, node");
}

TEST_CASE("every setting of a file") {
  const Config config = test::Value(ParseConfig(R"(
role: node
endpoint: unix:///run/a.sock
nodeId: n1
stateDir: /var/lib/a
driverName: csi.example.org
logLevel: debug
maxVolumes: 20
topology: [topology.kubernetes.io/zone=a, example.org/rack=]
pools:
  - {name: fast, file: /srv/fast, fs: xfs, reserve: 10Gi, overcommit: 2.5, watermark: 80%}
  - {name: slow, file: /srv/slow}
)"));
  CHECK(config.role == Role::kNode);
  CHECK(config.endpoint == "unix:///run/a.sock");
  CHECK(config.node_id == "n1");
  CHECK(config.state_dir == "/var/lib/a");
  CHECK(config.driver_name == "csi.example.org");
  CHECK(config.log_level == LogLevel::kDebug);
  CHECK(config.max_volumes == 20);
  CHECK(config.topology == std::vector<TopologySegment>{{"topology.kubernetes.io/zone", "a"}});
  REQUIRE(config.pools.size() == 2);
  CHECK(config.pools[0].name == "fast");
  CHECK(config.pools[0].location == "/srv/fast");
  CHECK(config.pools[0].default_filesystem == "xfs");
  CHECK(config.pools[0].space.reserve_bytes == 10 * kGiB);
  CHECK(config.pools[0].space.overcommit == 2.5);
  CHECK(config.pools[0].space.watermark == 0.8);
  CHECK(config.pools[1].default_filesystem == "ext4");
}

TEST_CASE("what a file does not say keeps its default") {
  const Config config = test::Value(ParseConfig("nodeId: n1"));
  CHECK(config.role == Role::kAll);
  CHECK(config.driver_name == "csi.holdfast.dev");
  CHECK(config.log_level == LogLevel::kInfo);
  CHECK(config.max_volumes == 0);
  CHECK(config.pools.empty());
}

TEST_CASE("a wrong file is refused, naming what is wrong") {
  const struct {
    std::string yaml;
    std::string named;
  } rows[] = {
      {"- a\n- b", "map of settings"},
      {"just text", "map of settings"},
      {"", "map of settings"},
      {"nodeID: n1", "nodeID: unknown setting (known: role"},
      {"role: boss", "role 'boss'"},
      {"logLevel: loud", "log level 'loud'"},
      {"maxVolumes: many", "line 1"},
      {"maxVolumes: 99999999999999999999", "line 1"},
      {"endpoint: [a, b]", "line 1"},
      {"nodeId: 'unterminated", "line"},
      {"pools: [{name: a, file: /a, colour: red}]", "unknown key 'colour'"},
      {"pools: [{name: a, file: a}]", "absolute path"},
      {"pools: [{name: A, file: /a}]", "pool name 'A'"},
      {"pools: [{name: a}]", "must be file:DIRECTORY"},
      {"pools: [{name: a, file: /a, watermark: 101%}]", "watermark='101'"},
      {"pools: [{name: a, file: {x: y}}]", "line 1"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.yaml);
    CHECK_FAILS(ParseConfig(row.yaml), kInvalidArgument, row.named);
  }
}

TEST_CASE("a Ceph pool in a file") {
  const Config config =
      test::Value(ParseConfig("pools:\n"
                              "- {name: a, file: /a}\n"
                              "- name: ceph\n"
                              "  rbd: block\n"
                              "  monitors: '[v2:10.0.0.1:3300,v1:10.0.0.1:6789]'\n"
                              "  user: holdfast\n"
                              "  keyring: /etc/holdfast/key\n"));
  REQUIRE(config.pools.size() == 2);
  CHECK(config.pools[1].kind == "rbd");
  CHECK(config.pools[1].ceph.monitors == "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]");
  CHECK_FAILS(ParseConfig("pools: [{name: a, file: /a, rbd: block}]"), kInvalidArgument,
              "of one kind");
}

TEST_CASE("pools that are no list are refused") {
  CHECK_FAILS(ParseConfig("pools: /srv/volumes"), kInvalidArgument, "pools");
  CHECK_FAILS(ParseConfig("pools: {name: a, file: /a}"), kInvalidArgument, "pools");
  CHECK_FAILS(ParseConfig("pools: [text]"), kInvalidArgument, "pools");
}

TEST_CASE("a file is named in its errors, and must be there") {
  const test::TempDirectory directory;
  CHECK_FAILS(LoadConfig(directory.path("none.yaml")), kNotFound, "none.yaml");
  REQUIRE_OK(os::WriteFileDurably(directory.fd(), "bad.yaml", "colour: red"));
  CHECK_FAILS(LoadConfig(directory.path("bad.yaml")), kInvalidArgument, directory.path("bad.yaml"));
  REQUIRE_OK(os::WriteFileDurably(directory.fd(), "good.yaml", "nodeId: n1"));
  CHECK(test::Value(LoadConfig(directory.path("good.yaml"))).node_id == "n1");
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
  CHECK(test::Value(ParseConfig("attach: true")).attach);
  CHECK_FAILS(ParseConfig("attach: sometimes"), kInvalidArgument, "");
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

}  // namespace
}  // namespace holdfast
