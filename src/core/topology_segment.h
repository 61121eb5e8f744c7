// SPDX-License-Identifier: Apache-2.0
// CSI topology segments: where nodes are, and what reaches them, in the CO's terms: keys and values
// (csi.proto, message Topology).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace holdfast {

struct TopologySegment {
  std::string key;    // "topology.kubernetes.io/zone"
  std::string value;  // 1..63 characters; empty: a node that has no such segment

  friend bool operator==(const TopologySegment&, const TopologySegment&) = default;
};

// "topology.<driver name>/node": each node has a value of its own.
[[nodiscard]] std::string NodeTopologyKey(const std::string& driver_name);

// Parses "KEY=VALUE". INVALID_ARGUMENT naming the part that csi.proto does not allow.
[[nodiscard]] absl::StatusOr<TopologySegment> ParseTopologySegment(std::string_view text);

// Parses the segments of a node, each "KEY=VALUE"; one without a value is left out.
// INVALID_ARGUMENT as above, and for a key that is given twice: keys that differ only in case are
// the same.
[[nodiscard]] absl::StatusOr<std::vector<TopologySegment>> ParseNodeTopology(
    const std::vector<std::string>& texts);

// Whether both are the same key.
[[nodiscard]] bool IsSameTopologyKey(std::string_view a, std::string_view b);

}  // namespace holdfast
