// SPDX-License-Identifier: Apache-2.0
#include "controller/volume_creation.h"

#include <algorithm>

#include "controller/parameters.h"
#include "rpc/fields.h"
#include "rpc/topology.h"

namespace holdfast::controller {
namespace {

// Codes that say "may still be running": what was begun on the node is not known.
bool IsUncertain(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kAborted ||
         code == absl::StatusCode::kDeadlineExceeded || code == absl::StatusCode::kCancelled;
}

absl::StatusOr<Wanted> ParseWanted(const csi::v1::CreateVolumeRequest& request) {
  RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
  RETURN_IF_ERROR(rpc::CheckMap(request.parameters(), "parameters"));
  if (request.volume_capabilities().empty()) {
    return InvalidArgument("volume_capabilities is missing");
  }
  ASSIGN_OR_RETURN(const ClassParameters parameters, ParseParameters(request.parameters()));
  Wanted wanted{.pool = parameters.pool, .provisioning = parameters.provisioning, .bytes = 0};
  if (request.has_capacity_range()) {
    ASSIGN_OR_RETURN(const rpc::CapacityRange range,
                     rpc::ParseCapacityRange(request.capacity_range()));
    wanted.bytes = range.required;
  }
  return wanted;
}

absl::Status NoPlace(const Candidates& candidates, const Wanted& wanted) {
  if (candidates.unfitting.empty() && candidates.absent.empty()) {
    return ResourceExhausted("no node that the request allows has Holdfast volumes");
  }
  return ResourceExhausted(
      "no node that the request allows has room for {} ({} without room or pool, {} not connected)",
      FormatBytes(wanted.bytes), candidates.unfitting.size(), candidates.absent.size());
}

}  // namespace

absl::Status VolumeCreation::Create(const csi::v1::CreateVolumeRequest& request,
                                    link::Deadline deadline,
                                    csi::v1::CreateVolumeResponse& response) {
  ASSIGN_OR_RETURN(const Wanted wanted, ParseWanted(request));
  ASSIGN_OR_RETURN(const auto lock, volume_locks_.TryLock(request.name(), "CreateVolume"));
  // Made before, or perhaps made by a call that was not answered.
  std::string known = hub_.names().NodeOf(request.name());
  Candidates candidates;
  if (known.empty()) {
    ASSIGN_OR_RETURN(candidates, AwaitPlace(request, wanted, deadline));
    known = hub_.names().NodeOf(request.name());
  }
  absl::Status made;
  if (!known.empty()) {
    made = CreateOn(known, request, deadline, response);
    if (!absl::IsResourceExhausted(made)) return made;
    ASSIGN_OR_RETURN(candidates, AwaitPlace(request, wanted, deadline));
  }
  for (const std::string& node : candidates.fitting) {
    made = CreateOn(node, request, deadline, response);
    if (!absl::IsResourceExhausted(made)) return made;
  }
  if (candidates.absent.empty() && !made.ok()) return made;  // the last one says what it has
  // Where only absent nodes are left, a CO that can choose others is told to; with several of them
  // one may come back.
  if (candidates.fitting.empty() && candidates.unfitting.empty() && candidates.absent.size() == 1) {
    made = CreateOn(candidates.absent.front(), request, deadline, response);
    if (!absl::IsUnavailable(made)) return made;
    // Told no creation of that name, as far as is known: not long after a start it is not.
    const bool untold = hub_.names().NodeOf(request.name()).empty() && hub_.IsSettled();
    return untold ? NoPlace(candidates, wanted) : made;
  }
  if (!candidates.absent.empty()) {
    return WithCode(NoPlace(candidates, wanted), absl::StatusCode::kUnavailable);
  }
  return NoPlace(candidates, wanted);
}

// After a start the nodes are on their way back, and with them the knowledge which of them was told
// to make this volume before. Where only one may have it, that one is waited for; else all of them.
absl::StatusOr<Candidates> VolumeCreation::AwaitPlace(const csi::v1::CreateVolumeRequest& request,
                                                      const Wanted& wanted,
                                                      link::Deadline deadline) {
  while (true) {
    const std::size_t connected = hub_.CountNodes();
    const std::vector<link::NodeView> nodes = NodesFor(request.accessibility_requirements());
    const bool settled = hub_.IsSettled();
    Candidates candidates =
        Place(request.accessibility_requirements(), nodes, driver_name_, wanted);
    const std::size_t here = candidates.fitting.size() + candidates.unfitting.size();
    const bool one =
        request.has_accessibility_requirements() && here + candidates.absent.size() == 1;
    if (settled || (one && here == 1)) return candidates;
    const bool news =
        one ? hub_.WaitForMoreThan(connected, deadline) : hub_.WaitUntilSettled(deadline);
    if (!news && !hub_.IsSettled()) {
      return Unavailable("the controller has just started and waits for its nodes; try again");
    }
  }
}

std::vector<link::NodeView> VolumeCreation::NodesFor(
    const csi::v1::TopologyRequirement& requirement) const {
  if (IsFreeChoice(requirement)) return hub_.Nodes();
  return hub_.Nodes(AllowedNodes(requirement, driver_name_));
}

absl::Status VolumeCreation::CreateOn(const std::string& node,
                                      const csi::v1::CreateVolumeRequest& request,
                                      link::Deadline deadline,
                                      csi::v1::CreateVolumeResponse& response) {
  const bool known = hub_.names().NodeOf(request.name()) == node;
  const bool connected = hub_.WaitFor(node, deadline);
  if (!connected) return Unavailable("node '{}' is not connected", node);
  hub_.names().CreationStarts(request.name(), node);
  link::v1::Command command;
  *command.mutable_create_volume() = request;
  command.mutable_create_volume()->clear_secrets();
  const auto& requisite = request.accessibility_requirements().requisite();
  const csi::v1::Topology here = rpc::NodeTopology(driver_name_, node);
  // They may name thousands; a node that is one of them needs to know no more.
  if (std::ranges::any_of(requisite,
                          [&](const auto& one) { return rpc::IsReachedAt(one, here); })) {
    auto& place = *command.mutable_create_volume()->mutable_accessibility_requirements();
    place.Clear();
    *place.add_requisite() = here;
  }
  auto result = nodes_.Ask(node, std::move(command), deadline);
  if (!result.ok()) {
    const bool refused = !IsUncertain(result.status().code());
    const bool not_there = !known || absl::IsResourceExhausted(result.status());
    if (refused && not_there) hub_.names().CreationFailed(request.name());
    return result.status();
  }
  response = std::move(*result->mutable_create_volume());
  hub_.names().Created(response.volume().volume_id(), request.name());
  return absl::OkStatus();
}

}  // namespace holdfast::controller
