// SPDX-License-Identifier: Apache-2.0
#include "rpc/topology.h"

namespace holdfast::rpc {

std::string TopologyKey(const std::string& driver_name) {
  return "topology." + driver_name + "/node";
}

csi::v1::Topology NodeTopology(const std::string& driver_name, const std::string& node_id) {
  csi::v1::Topology topology;
  (*topology.mutable_segments())[TopologyKey(driver_name)] = node_id;
  return topology;
}

bool Matches(const csi::v1::Topology& wanted, const csi::v1::Topology& node) {
  for (const auto& [key, value] : wanted.segments()) {
    const auto found = node.segments().find(key);
    if (found == node.segments().end() || found->second != value) return false;
  }
  return true;
}

}  // namespace holdfast::rpc
