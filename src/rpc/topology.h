// SPDX-License-Identifier: Apache-2.0
// Where volumes can be reached, in CSI's words: one segment, the node.
#pragma once

#include <string>

#include "proto/csi.pb.h"

namespace holdfast::rpc {

// "topology.<driver name>/node", the same in every RPC.
[[nodiscard]] std::string TopologyKey(const std::string& driver_name);

// The segment of one node.
[[nodiscard]] csi::v1::Topology NodeTopology(const std::string& driver_name,
                                             const std::string& node_id);

// True when something accessible from `node` satisfies the segment.
[[nodiscard]] bool Matches(const csi::v1::Topology& wanted, const csi::v1::Topology& node);

}  // namespace holdfast::rpc
