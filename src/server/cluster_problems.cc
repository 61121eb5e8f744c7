// SPDX-License-Identifier: Apache-2.0
#include "server/cluster_problems.h"

#include <algorithm>
#include <iterator>

namespace holdfast::server {
namespace {

using About = ClusterProblem::About;

// A pool is nearly full when less than this part of what volumes may use is left.
constexpr Bytes kNearlyFull = 10;

ClusterProblem OfNode(const std::string& node, std::string reason, std::string message) {
  return {.about = About::kNode,
          .name_space = "",
          .name = node,
          .persistent_volume = "",
          .reason = std::move(reason),
          .message = std::move(message)};
}

bool IsNearlyFull(const admin::v1::Pool& pool) {
  const Bytes usable = pool.total_bytes() - pool.reserve_bytes();
  return usable > 0 && pool.thick_available_bytes() < usable / kNearlyFull;
}

// Adds what is found in each part of a list; what cannot be listed now is found another time.
template <typename Response>
void Collect(const OwnInventory& own, ClusterInventory& cluster, link::Deadline deadline,
             std::vector<ClusterProblem>& problems) {
  const auto add = [&](const Response& part) {
    std::ranges::move(ProblemsIn(part), std::back_inserter(problems));
    return true;
  };
  Part part;
  do {
    Response response;
    if (!own.Fill(part, response).ok()) break;
    part.after = response.next();
    add(response);
  } while (!part.after.empty());
  (void)cluster.List<Response>("", deadline, add);
}

}  // namespace

std::vector<ClusterProblem> ProblemsIn(const admin::v1::ListNodesResponse& nodes) {
  std::vector<ClusterProblem> problems;
  for (const admin::v1::Node& node : nodes.nodes()) {
    if (node.state() != "missing") continue;
    problems.push_back(OfNode(node.name(), "HoldfastNodeMissing", node.problem()));
  }
  return problems;
}

std::vector<ClusterProblem> ProblemsIn(const admin::v1::ListPoolsResponse& pools) {
  std::vector<ClusterProblem> problems;
  for (const admin::v1::Pool& pool : pools.pools()) {
    if (pool.node().empty()) continue;
    if (!pool.problem().empty()) {
      problems.push_back(OfNode(pool.node(), "HoldfastPoolNotReady",
                                fmt::format("pool '{}': {}", pool.name(), pool.problem())));
    } else if (IsNearlyFull(pool)) {
      // Without a figure that changes: the same problem is one event.
      problems.push_back(
          OfNode(pool.node(), "HoldfastPoolNearlyFull",
                 fmt::format("pool '{}': less than 10 % of {} is left for volumes", pool.name(),
                             FormatBytes(pool.total_bytes() - pool.reserve_bytes()))));
    }
  }
  return problems;
}

std::vector<ClusterProblem> ProblemsIn(const admin::v1::ListVolumesResponse& volumes) {
  std::vector<ClusterProblem> problems;
  for (const admin::v1::Volume& volume : volumes.volumes()) {
    if (!volume.abnormal()) continue;
    const std::string message = fmt::format("volume {}: {}", volume.id(), volume.condition());
    if (!volume.claim().empty()) {
      problems.push_back({.about = About::kClaim,
                          .name_space = volume.kubernetes_namespace(),
                          .name = volume.claim(),
                          .persistent_volume = volume.persistent_volume(),
                          .reason = "HoldfastVolumeAbnormal",
                          .message = message});
    } else if (!volume.node().empty()) {
      problems.push_back(OfNode(volume.node(), "HoldfastVolumeAbnormal", message));
    }
  }
  return problems;
}

std::vector<ClusterProblem> ProblemsIn(const admin::v1::ListLeftoversResponse& leftovers) {
  std::vector<ClusterProblem> problems;
  for (const admin::v1::Leftover& leftover : leftovers.leftovers()) {
    if (leftover.node().empty()) continue;
    problems.push_back(OfNode(leftover.node(), "HoldfastLeftover",
                              fmt::format("{}: {}", leftover.subject(), leftover.problem())));
  }
  return problems;
}

std::vector<ClusterProblem> FindClusterProblems(const OwnInventory& own, ClusterInventory& cluster,
                                                link::Deadline deadline) {
  std::vector<ClusterProblem> problems = ProblemsIn(cluster.Nodes(""));
  Collect<admin::v1::ListPoolsResponse>(own, cluster, deadline, problems);
  Collect<admin::v1::ListVolumesResponse>(own, cluster, deadline, problems);
  Collect<admin::v1::ListLeftoversResponse>(own, cluster, deadline, problems);
  return problems;
}

}  // namespace holdfast::server
