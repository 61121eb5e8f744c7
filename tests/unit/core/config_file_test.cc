// SPDX-License-Identifier: Apache-2.0
#include "core/config_file.h"

#include <catch2/catch.hpp>
#include <string>

#include "os/file.h"
#include "support/known_pools.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast {
namespace config_file_test {

absl::StatusOr<Config> Parse(const std::string& yaml) {
  return ParseConfig(yaml, server::KnownPoolSyntaxes());
}

absl::StatusOr<Config> Load(const std::string& path) {
  return LoadConfig(path, server::KnownPoolSyntaxes());
}

TEST_CASE("every setting of a file") {
  const Config config = test::Value(Parse(R"(
role: node
endpoint: unix:///run/a.sock
nodeId: n1
stateDir: /var/lib/a
driverName: csi.example.org
logLevel: debug
maxVolumes: 20
trimInterval: 7d
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
  CHECK(config.trim_interval == std::chrono::hours(7 * 24));
  CHECK(config.topology == std::vector<TopologySegment>{{"topology.kubernetes.io/zone", "a"}});
  REQUIRE(config.pools.size() == 2);
  CHECK(config.pools[0].name == "fast");
  CHECK(config.pools[0].location == "/srv/fast");
  CHECK(config.pools[0].default_filesystem == "xfs");
  CHECK(config.pools[0].keys ==
        PoolKeys{{"overcommit", "2.5"}, {"reserve", "10Gi"}, {"watermark", "80%"}});
  CHECK(config.pools[1].default_filesystem == "ext4");
}

TEST_CASE("what a file does not say keeps its default") {
  const Config config = test::Value(Parse("nodeId: n1"));
  CHECK(config.role == Role::kAll);
  CHECK(config.driver_name == "csi.holdfast.dev");
  CHECK(config.log_level == LogLevel::kInfo);
  CHECK(config.max_volumes == 0);
  CHECK(config.pools.empty());
}

TEST_CASE("a wrong file is refused in plain words, naming line and key") {
  const struct {
    std::string yaml;
    std::string message;
  } rows[] = {
      {"- a\n- b", "the configuration must be a map of settings"},
      {"just text", "the configuration must be a map of settings"},
      {"", "the configuration must be a map of settings"},
      {"nodeID: n1", "line 1: unknown setting 'nodeID'; did you mean 'nodeId'?"},
      {"role: all\n\nstatedir: /a", "line 3: unknown setting 'statedir'; did you mean 'stateDir'?"},
      {"colour: red", "line 1: unknown setting 'colour'; known: role, "},
      {"[a]: b", "line 1: the name of a setting must be a single word"},
      {"role: boss", "line 1: role: role 'boss' must be one of: all, controller, node"},
      {"logLevel: loud", "line 1: logLevel: log level 'loud' must be one of"},
      {"role: all\nmaxVolumes: many", "line 2: maxVolumes: 'many' must be a whole number"},
      {"maxVolumes: 99999999999999999999", "line 1: maxVolumes: '99999999999999999999' must be"},
      {"maxVolumes: 1.5", "line 1: maxVolumes: '1.5' must be a whole number"},
      {"trimInterval: often", "line 1: trimInterval: 'often' is not 0 or a time of whole seconds"},
      {"maxVolumes: [1]", "line 1: maxVolumes: must be a single value"},
      {"role: all\nattach: true\nrole: node", "line 3: setting 'role' is given twice"},
      {"attach: sometimes", "line 1: attach: must be true or false"},
      {"attach: [true]", "line 1: attach: must be true or false"},
      {"endpoint: [a, b]", "line 1: endpoint: must be a single value"},
      {"stateDir:", "line 1: stateDir: must be a single value"},
      {"topology: zone=a", "line 1: topology: must be a list of texts"},
      {"topology: [{zone: a}]", "line 1: topology: must be a list of texts"},
      {"topology: [zone]", "line 1: topology: 'zone' must be KEY=VALUE"},
      {"role: 'all", "line 1: this is not valid YAML ("},
      {"role: all\nnodeId: [n1", "line 2: this is not valid YAML ("},
      {"role: all\n nodeId: n1", "line 2: this is not valid YAML ("},
      {"pools: /srv", "line 1: pools: must be a list of pools"},
      {"pools: {name: a, file: /a}", "line 1: pools: must be a list of pools"},
      {"pools:\n- text", "line 1: pools: line 2: a pool must be a map with name, and file or rbd"},
      {"pools:\n- {name: a, file: /a, reserv: 1}",
       "pools: line 2: pool 'a': unknown key 'reserv'; did you mean 'reserve'?"},
      {"pools: [{name: a, file: /a, colour: red}]",
       "pool 'a': unknown key 'colour'; known: fs, reserve, overcommit, watermark, keepDeleted, "
       "trash, sectorSize"},
      {"pools: [{name: a, fille: /a}]", "unknown key 'fille'; did you mean 'file'?"},
      {"pools: [{nmae: a, file: /a}]", "unknown key 'nmae'; did you mean 'name'?"},
      {"pools: [{name: a, [b]: /a}]", "must be a single value"},
      {"pools: [{name: a, file: a}]", "absolute path"},
      {"pools: [{name: A, file: /a}]", "pool name 'A'"},
      {"pools: [{name: a}]",
       "line 1: pool 'a' has no storage: its keys are name, and file or rbd is missing"},
      {"pools: [{name: a, file: /a, file: /b}]",
       "line 1: pools: line 1: key 'file' is given twice"},
      {"pools: [{name: a, file: /a, watermark: 101%}]", "watermark='101'"},
      {"pools: [{name: a, file: {x: y}}]", "line 1: pools: line 1: file: must be a single value"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.yaml);
    const absl::Status refused = Parse(row.yaml).status();
    CHECK_FAILS(refused, kInvalidArgument, row.message);
    CHECK_THAT(MessageOf(refused), !Catch::Contains("yaml-cpp") && !Catch::Contains("conversion"));
  }
}

TEST_CASE("a Ceph pool in a file") {
  const Config config =
      test::Value(Parse("pools:\n"
                        "- {name: a, file: /a}\n"
                        "- name: ceph\n"
                        "  rbd: block\n"
                        "  monitors: '[v2:10.0.0.1:3300,v1:10.0.0.1:6789]'\n"
                        "  user: holdfast\n"
                        "  keyring: /etc/holdfast/key\n"));
  REQUIRE(config.pools.size() == 2);
  CHECK(config.pools[1].kind() == "rbd");
  CHECK(config.pools[1].keys.at("monitors") == "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]");
  CHECK_FAILS(Parse("pools: [{name: a, file: /a, rbd: block}]"), kInvalidArgument, "of one kind");
}

TEST_CASE("a switch is written as YAML writes them") {
  CHECK(test::Value(Parse("attach: true")).attach);
  CHECK(test::Value(Parse("attach: yes")).attach);
  CHECK_FALSE(test::Value(Parse("attach: off")).attach);
}

TEST_CASE("a file is named in its errors, and must be there") {
  const test::TempDirectory directory;
  CHECK_FAILS(Load(directory.path("none.yaml")), kNotFound, "none.yaml");
  REQUIRE_OK(os::WriteFileDurably(directory.fd(), "bad.yaml", "colour: red"));
  CHECK_FAILS(Load(directory.path("bad.yaml")), kInvalidArgument, directory.path("bad.yaml"));
  REQUIRE_OK(os::WriteFileDurably(directory.fd(), "good.yaml", "nodeId: n1"));
  CHECK(test::Value(Load(directory.path("good.yaml"))).node_id == "n1");
}

}  // namespace config_file_test
}  // namespace holdfast
