// SPDX-License-Identifier: Apache-2.0
// What is wrong in the cluster, each with the Kubernetes object whose owner should know.
#pragma once

#include <string>
#include <vector>

#include "link/hub.h"
#include "server/cluster_inventory.h"
#include "server/own_inventory.h"

namespace holdfast::server {

struct ClusterProblem {
  enum class About { kNode, kClaim };
  About about = About::kNode;
  std::string name_space;         // of a claim
  std::string name;               // of the node or claim
  std::string persistent_volume;  // the claim's, when the volume was made; empty: not known
  std::string reason;             // one word in camel case, as events have it
  std::string message;
  friend auto operator<=>(const ClusterProblem&, const ClusterProblem&) = default;
};

// Nodes that are missing, pools that cannot serve or are nearly full, volumes that are abnormal,
// and leftovers. What belongs to no node and no claim is left out, and so is what no node answers
// about.
[[nodiscard]] std::vector<ClusterProblem> FindClusterProblems(const OwnInventory& own,
                                                              ClusterInventory& cluster,
                                                              link::Deadline deadline);

// The problems in parts of lists.
[[nodiscard]] std::vector<ClusterProblem> ProblemsIn(const admin::v1::ListNodesResponse& nodes);
[[nodiscard]] std::vector<ClusterProblem> ProblemsIn(const admin::v1::ListPoolsResponse& pools);
[[nodiscard]] std::vector<ClusterProblem> ProblemsIn(const admin::v1::ListVolumesResponse& volumes);
[[nodiscard]] std::vector<ClusterProblem> ProblemsIn(
    const admin::v1::ListLeftoversResponse& leftovers);

}  // namespace holdfast::server
