// SPDX-License-Identifier: Apache-2.0
#include "controller/placement.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "core/topology_segment.h"

namespace holdfast::controller {
namespace {

// Room for that many volumes of the size that is asked for is plenty.
constexpr Bytes kPlenty = 64;
constexpr Bytes kLeastPlenty = kGiB;

Bytes Plenty(Bytes wanted) {
  const Bytes unit = std::min(wanted, std::numeric_limits<Bytes>::max() / kPlenty);
  return std::max(kLeastPlenty, kPlenty * unit);
}

std::size_t Lot(const std::string& volume, const std::string& node) {
  return std::hash<std::string>{}(volume + '/' + node);
}

// The largest volume that one of its pools can take; -1: it has no such pool.
Bytes RoomOn(const link::NodeView& node, const PlacementRequest& wanted) {
  Bytes most = -1;
  for (const link::v1::Pool* const pool : PoolsNamed(node, wanted.pools)) {
    if (!pool->problem().empty()) continue;
    most = std::max<Bytes>(most, RoomOf(*pool, wanted.provisioning).maximum_volume_size().value());
  }
  return most;
}

void SortByRoom(std::vector<std::string>& nodes, const std::map<std::string, Bytes>& room_of,
                const PlacementRequest& wanted) {
  const Bytes plenty = Plenty(wanted.bytes);
  std::ranges::stable_sort(nodes, [&](const std::string& a, const std::string& b) {
    const Bytes room_a = std::min(room_of.at(a), plenty);
    const Bytes room_b = std::min(room_of.at(b), plenty);
    if (room_a != room_b) return room_a > room_b;
    return room_a == plenty && Lot(wanted.name, a) < Lot(wanted.name, b);
  });
}

}  // namespace

const link::v1::Pool* PoolNamed(const link::NodeView& node, const std::string& name) {
  for (const link::v1::Pool& pool : node.pools->pools()) {
    if (pool.name() == name) return &pool;
  }
  return nullptr;
}

std::vector<const link::v1::Pool*> PoolsNamed(const link::NodeView& node,
                                              const std::vector<std::string>& names) {
  std::vector<const link::v1::Pool*> pools;
  if (names.empty()) {
    for (const link::v1::Pool& pool : node.pools->pools()) pools.push_back(&pool);
  }
  for (const std::string& name : names) {
    if (const link::v1::Pool* const pool = PoolNamed(node, name)) pools.push_back(pool);
  }
  return pools;
}

absl::StatusOr<VolumeId> IdForName(const link::NodeView& node, const link::v1::Pool& pool,
                                   const std::string& name) {
  ASSIGN_OR_RETURN(std::string uuid, UuidOfName(pool.id(), name));
  return VolumeId{.pool = pool.name(), .node = node.name, .uuid = std::move(uuid)};
}

const csi::v1::GetCapacityResponse& RoomOf(const link::v1::Pool& pool, Provisioning provisioning) {
  return provisioning == Provisioning::kThick ? pool.thick() : pool.thin();
}

std::string NodeOf(const csi::v1::Topology& topology, const std::string& driver_name) {
  const auto segment = topology.segments().find(NodeTopologyKey(driver_name));
  return segment == topology.segments().end() ? std::string() : segment->second;
}

std::vector<std::string> AllowedNodes(const csi::v1::TopologyRequirement& requirement,
                                      const std::string& driver_name) {
  std::vector<std::string> ordered;
  std::set<std::string> seen;
  for (const auto* const list : {&requirement.preferred(), &requirement.requisite()}) {
    for (const csi::v1::Topology& topology : *list) {
      const std::string node = NodeOf(topology, driver_name);
      if (!node.empty() && seen.insert(node).second) ordered.push_back(node);
    }
  }
  return ordered;
}

bool IsFreeChoice(const csi::v1::TopologyRequirement& requirement) {
  return requirement.preferred().empty() && requirement.requisite().empty();
}

const link::v1::Pool* PoolOfAnswer(const link::NodeView& node, const PlacementRequest& wanted,
                                   const csi::v1::CreateVolumeResponse& answered) {
  const auto allowed = PoolsNamed(node, wanted.pools);
  if (allowed.size() == 1) return allowed.front();
  const auto id = VolumeId::Parse(answered.volume().volume_id());
  const auto found = std::ranges::find_if(
      allowed, [&](const link::v1::Pool* pool) { return id && pool->name() == id->pool; });
  return found == allowed.end() ? nullptr : *found;
}

Candidates Place(const csi::v1::TopologyRequirement& requirement,
                 const std::vector<link::NodeView>& nodes, const std::string& driver_name,
                 const PlacementRequest& wanted) {
  std::map<std::string, Bytes> room_of;  // connected nodes
  for (const link::NodeView& node : nodes) room_of[node.name] = RoomOn(node, wanted);
  std::vector<std::string> allowed = AllowedNodes(requirement, driver_name);
  if (IsFreeChoice(requirement)) {
    for (const auto& [name, room] : room_of) allowed.push_back(name);
    SortByRoom(allowed, room_of, wanted);
  }
  Candidates candidates;
  for (const std::string& name : allowed) {
    const auto room = room_of.find(name);
    if (room == room_of.end()) {
      candidates.absent.push_back(name);
    } else if (room->second >= std::max<Bytes>(wanted.bytes, 1)) {
      candidates.fitting.push_back(name);
    } else {
      candidates.unfitting.push_back(name);
    }
  }
  return candidates;
}

}  // namespace holdfast::controller
