// SPDX-License-Identifier: Apache-2.0
#include "controller/capacity.h"

#include <algorithm>
#include <limits>

#include "controller/placement.h"
#include "controller/pool_choice.h"
#include "controller/router.h"
#include "controller/service.h"
#include "fs/filesystem.h"
#include "rpc/fields.h"
#include "rpc/topology.h"

namespace holdfast::controller {
namespace {

// A node's figures are untrusted: a wrong one must not corrupt the sum.
Bytes Sum(Bytes total, Bytes room) {
  const Bytes left = std::numeric_limits<Bytes>::max() - total;
  return total + std::clamp<Bytes>(room, 0, left);
}

}  // namespace

absl::StatusOr<CapacityQuestion> ParseCapacityQuestion(const csi::v1::GetCapacityRequest& request) {
  RETURN_IF_ERROR(rpc::CheckMap(request.parameters(), "parameters"));
  CapacityQuestion question;
  ASSIGN_OR_RETURN(question.parameters, ParseParameters(request.parameters()));
  question.filesystem = question.parameters.filesystem;
  for (const csi::v1::VolumeCapability& capability : request.volume_capabilities()) {
    const auto use = rpc::ParseCapability(capability, absl::StatusCode::kFailedPrecondition);
    if (absl::IsFailedPrecondition(use.status())) {
      question.possible = false;
      return question;
    }
    RETURN_IF_ERROR(use.status());
    question.needs_several_nodes |= SharingOf(use->access_mode) != Sharing::kAlone;
    question.possible &=
        RequireReach(*use, /*on_one_node=*/false, absl::StatusCode::kFailedPrecondition).ok();
    question.block |= use->access_type == AccessType::kBlock;
    if (!use->filesystem.empty()) question.filesystem = use->filesystem;
  }
  return question;
}

Bytes MinimumSize(const CapacityQuestion& question, const std::string& default_filesystem) {
  if (question.block) return kVolumeGranularity;
  const fs::Filesystem* const filesystem =
      fs::FindFilesystem(question.filesystem.empty() ? default_filesystem : question.filesystem);
  return filesystem == nullptr ? kVolumeGranularity : filesystem->min_size();
}

void AddRoom(Bytes available, Bytes maximum, Bytes minimum,
             csi::v1::GetCapacityResponse& response) {
  response.set_available_capacity(Sum(response.available_capacity(), available));
  auto& maximum_size = *response.mutable_maximum_volume_size();
  maximum_size.set_value(std::max(maximum_size.value(), maximum));
  const bool first = !response.has_minimum_volume_size();
  auto& minimum_size = *response.mutable_minimum_volume_size();
  minimum_size.set_value(first ? minimum : std::min(minimum_size.value(), minimum));
}

void AddCapacity(const CapacityQuestion& question, const link::NodeView& node,
                 csi::v1::GetCapacityResponse& response) {
  for (const link::v1::Pool* const pool : PoolsNamed(node, question.parameters.pools)) {
    if (!pool->problem().empty()) continue;
    const auto& room = RoomOf(*pool, question.parameters.provisioning);
    const Bytes minimum = std::max<Bytes>(room.minimum_volume_size().value(),
                                          MinimumSize(question, pool->default_filesystem()));
    AddRoom(room.available_capacity(), room.maximum_volume_size().value(), minimum, response);
  }
}

// From this process's pools.
absl::Status Service::AnswerCapacity(const csi::v1::GetCapacityRequest& request,
                                     csi::v1::GetCapacityResponse& response) {
  ASSIGN_OR_RETURN(const CapacityQuestion question, ParseCapacityQuestion(request));
  ASSIGN_OR_RETURN(const auto allowed, AllowedPools(question.parameters, env_.pools));
  if (!question.possible) return absl::OkStatus();
  absl::Status missing;
  for (pool::Pool* const pool : allowed) {
    if (question.needs_several_nodes && !pool->info().node.empty()) continue;
    const csi::v1::Topology reach = rpc::AccessibleTopology(pool->info(), env_.driver_name);
    if (!rpc::IsAccessibleFrom(request.accessible_topology(), reach)) continue;
    const auto capacity = CapacityOf(*pool, question.parameters.provisioning, allowed.size() == 1);
    if (!capacity.ok()) {
      missing = capacity.status();
      continue;
    }
    AddRoom(capacity->available_bytes, capacity->maximum_volume_bytes,
            std::max(capacity->minimum_volume_bytes,
                     MinimumSize(question, pool->info().default_filesystem)),
            response);
  }
  // What is missing takes nothing from the others.
  return response.has_maximum_volume_size() ? absl::OkStatus() : missing;
}

// Of several pools, one that hangs must not hold up the others.
absl::StatusOr<PoolCapacity> Service::CapacityOf(pool::Pool& pool, Provisioning provisioning,
                                                 bool is_only_one) const {
  if (is_only_one) return pool.GetCapacity(provisioning);
  return env_.pools.questions().Put(
      pool, [provisioning](pool::Pool& one) { return one.GetCapacity(provisioning); });
}

// From what the nodes have said.
absl::Status Router::AnswerCapacity(const csi::v1::GetCapacityRequest& request,
                                    csi::v1::GetCapacityResponse& response) {
  ASSIGN_OR_RETURN(const CapacityQuestion question, ParseCapacityQuestion(request));
  const std::string only = NodeOf(request.accessible_topology(), env_.driver_name);
  if (request.has_accessible_topology() && only.empty()) return absl::OkStatus();
  if (!question.possible || question.needs_several_nodes) return absl::OkStatus();
  const std::vector<link::NodeView> nodes =
      only.empty() ? env_.hub.Nodes() : env_.hub.Nodes({only});
  for (const link::NodeView& node : nodes) AddCapacity(question, node, response);
  // Nothing false is said of a node that is on its way back.
  if (nodes.empty() && !only.empty() && !env_.hub.lost_pools().HasNode(only)) {
    return Unavailable("node '{}' is not connected", only);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::controller
