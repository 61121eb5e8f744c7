// SPDX-License-Identifier: Apache-2.0
// Accessible topology: from where volumes can be reached.
#pragma once

#include <string>

#include "pool/pool.h"
#include "proto/csi.pb.h"

namespace holdfast::rpc {

// The segment of one node.
[[nodiscard]] csi::v1::Topology NodeTopology(const std::string& driver_name,
                                             const std::string& node_id);

// The segment of the nodes that reach the pool's volumes; without segments where all nodes do.
[[nodiscard]] csi::v1::Topology AccessibleTopology(const pool::PoolInfo& pool,
                                                   const std::string& driver_name);

// True if a node at `place` reaches what is reached from `reach`. A place may have segments
// under keys of which `reach` says nothing: Kubernetes names all that a node has. One without
// segments is any place.
[[nodiscard]] bool IsAccessibleFrom(const csi::v1::Topology& place, const csi::v1::Topology& reach);

}  // namespace holdfast::rpc
