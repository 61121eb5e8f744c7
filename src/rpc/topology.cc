// SPDX-License-Identifier: Apache-2.0
#include "rpc/topology.h"

#include <algorithm>

namespace holdfast::rpc {

csi::v1::Topology NodeTopology(const std::string& driver_name, const std::string& node_id) {
  csi::v1::Topology topology;
  (*topology.mutable_segments())[NodeTopologyKey(driver_name)] = node_id;
  return topology;
}

csi::v1::Topology AccessibleTopology(const pool::PoolInfo& pool, const std::string& driver_name) {
  if (!pool.node.empty()) return NodeTopology(driver_name, pool.node);
  csi::v1::Topology topology;
  if (pool.topology) (*topology.mutable_segments())[pool.topology->key] = pool.topology->value;
  return topology;
}

bool IsAccessibleFrom(const csi::v1::Topology& place, const csi::v1::Topology& reach) {
  if (place.segments().empty()) return true;
  return std::ranges::all_of(reach.segments(), [&](const auto& segment) {
    const auto found = place.segments().find(segment.first);
    return found != place.segments().end() && found->second == segment.second;
  });
}

}  // namespace holdfast::rpc
