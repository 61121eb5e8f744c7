// SPDX-License-Identifier: Apache-2.0
#include "rpc/topology.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <utility>

namespace holdfast::rpc {
namespace {

csi::v1::Topology Segments(std::initializer_list<std::pair<const char*, const char*>> segments) {
  csi::v1::Topology topology;
  for (const auto& [key, value] : segments) (*topology.mutable_segments())[key] = value;
  return topology;
}

TEST_CASE("a node is one segment under the driver's key") {
  CHECK(TopologyKey("csi.example.org") == "topology.csi.example.org/node");
  const csi::v1::Topology topology = NodeTopology("csi.example.org", "n1");
  REQUIRE(topology.segments_size() == 1);
  CHECK(topology.segments().at("topology.csi.example.org/node") == "n1");
}

TEST_CASE("what is wanted matches where every wanted segment is") {
  const csi::v1::Topology node = Segments({{"node", "n1"}, {"rack", "r1"}});
  CHECK(Matches(Segments({}), node));
  CHECK(Matches(Segments({{"node", "n1"}}), node));
  CHECK(Matches(Segments({{"rack", "r1"}, {"node", "n1"}}), node));
  CHECK_FALSE(Matches(Segments({{"node", "n2"}}), node));
  CHECK_FALSE(Matches(Segments({{"node", "n1"}, {"rack", "r2"}}), node));
  CHECK_FALSE(Matches(Segments({{"zone", "z1"}}), node));
  CHECK_FALSE(Matches(Segments({{"node", "n1"}}), Segments({})));
}

}  // namespace
}  // namespace holdfast::rpc
