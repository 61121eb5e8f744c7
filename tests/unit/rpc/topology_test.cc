// SPDX-License-Identifier: Apache-2.0
#include "rpc/topology.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <utility>

namespace holdfast::rpc {
namespace topology_test {

constexpr char kDriver[] = "csi.example.org";

csi::v1::Topology Segments(std::initializer_list<std::pair<const char*, const char*>> segments) {
  csi::v1::Topology topology;
  for (const auto& [key, value] : segments) (*topology.mutable_segments())[key] = value;
  return topology;
}

pool::PoolInfo Pool(const std::string& node) {
  return {
      .id = "", .name = "p", .kind = "", .location = "", .node = node, .default_filesystem = ""};
}

TEST_CASE("a node is one segment under the driver's key") {
  CHECK(NodeTopologyKey(kDriver) == "topology.csi.example.org/node");
  const csi::v1::Topology topology = NodeTopology(kDriver, "n1");
  REQUIRE(topology.segments_size() == 1);
  CHECK(topology.segments().at("topology.csi.example.org/node") == "n1");
}

TEST_CASE("a pool is reached from its node, from where it is said, or from everywhere") {
  const csi::v1::Topology node = AccessibleTopology(Pool("n1"), kDriver);
  REQUIRE(node.segments_size() == 1);
  CHECK(node.segments().at("topology.csi.example.org/node") == "n1");
  CHECK(AccessibleTopology(Pool(""), kDriver).segments().empty());
  pool::PoolInfo zone = Pool("");
  zone.topology = {"zone", "z1"};
  REQUIRE(AccessibleTopology(zone, kDriver).segments_size() == 1);
  CHECK(AccessibleTopology(zone, kDriver).segments().at("zone") == "z1");
}

TEST_CASE("a place reaches what is reached from one of its segments, whatever others it has") {
  const csi::v1::Topology zone = Segments({{"zone", "z1"}});
  CHECK(IsAccessibleFrom(Segments({{"zone", "z1"}}), zone));
  CHECK(IsAccessibleFrom(Segments({{"node", "n1"}, {"zone", "z1"}, {"rack", "r1"}}), zone));
  CHECK_FALSE(IsAccessibleFrom(Segments({{"zone", "z2"}}), zone));
  CHECK_FALSE(IsAccessibleFrom(Segments({{"node", "n1"}, {"zone", "z2"}}), zone));
  CHECK_FALSE(IsAccessibleFrom(Segments({{"node", "z1"}}), zone));
  CHECK_FALSE(IsAccessibleFrom(Segments({{"zone", "Z1"}}), zone));
}

TEST_CASE("a place without segments is any, and what is reached from everywhere is so at any") {
  CHECK(IsAccessibleFrom(Segments({}), Segments({{"zone", "z1"}})));
  CHECK(IsAccessibleFrom(Segments({{"node", "n1"}}), Segments({})));
  CHECK(IsAccessibleFrom(Segments({}), Segments({})));
}

}  // namespace topology_test
}  // namespace holdfast::rpc
