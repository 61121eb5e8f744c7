// SPDX-License-Identifier: Apache-2.0
// On which node a new volume may be made, and in which order to try. Pure functions of what the
// nodes have said.
#pragma once

#include <string>
#include <vector>

#include "core/volume.h"
#include "link/hub.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

// The node's pool of that name, nullptr if it has none.
[[nodiscard]] const link::v1::Pool* PoolNamed(const link::NodeView& node, const std::string& name);
// Those of the names that it has, in their order; all of its pools without a name.
[[nodiscard]] std::vector<const link::v1::Pool*> PoolsNamed(const link::NodeView& node,
                                                            const std::vector<std::string>& names);
// The id that a volume of this CO name has or would have in the node's pool (ADR 0008). INTERNAL if
// the pool's id is not a UUID.
[[nodiscard]] absl::StatusOr<VolumeId> IdForName(const link::NodeView& node,
                                                 const link::v1::Pool& pool,
                                                 const std::string& name);
[[nodiscard]] const csi::v1::GetCapacityResponse& RoomOf(const link::v1::Pool& pool,
                                                         Provisioning provisioning);

// The node that a topology names; empty if it names none of this driver's.
[[nodiscard]] std::string NodeOf(const csi::v1::Topology& topology, const std::string& driver_name);

// The nodes that the requirement allows, in its order, each once; empty if it leaves the choice
// free.
[[nodiscard]] std::vector<std::string> AllowedNodes(const csi::v1::TopologyRequirement& requirement,
                                                    const std::string& driver_name);
[[nodiscard]] bool IsFreeChoice(const csi::v1::TopologyRequirement& requirement);

struct PlacementRequest {
  std::string name;                // as the CO gave it
  std::vector<std::string> pools;  // as ClassParameters::pools
  Provisioning provisioning = Provisioning::kThick;
  Bytes bytes = 0;  // at least
  Bytes limit = 0;  // 0: none
};

struct Candidates {
  std::vector<std::string> fitting;    // connected and with room, best first
  std::vector<std::string> absent;     // allowed but not connected
  std::vector<std::string> unfitting;  // connected, without a pool or the room
};

// The pool in which the node says that it has made the volume; nullptr if it cannot be there. Which
// volume that is follows from the pool.
[[nodiscard]] const link::v1::Pool* PoolOfAnswer(const link::NodeView& node,
                                                 const PlacementRequest& wanted,
                                                 const csi::v1::CreateVolumeResponse& answered);

// By the requirement's preferred topologies in their order, then its requisite ones; without a
// requirement by room, most first, where room for many such volumes is as good as any more: among
// nodes with plenty the volume's name decides, so that none draws all volumes to itself by what it
// says of its room.
[[nodiscard]] Candidates Place(const csi::v1::TopologyRequirement& requirement,
                               const std::vector<link::NodeView>& nodes,
                               const std::string& driver_name, const PlacementRequest& wanted);

}  // namespace holdfast::controller
