// SPDX-License-Identifier: Apache-2.0
#include "controller/router.h"

#include <algorithm>

#include "controller/capabilities.h"
#include "controller/capacity.h"
#include "controller/parameters.h"
#include "controller/placement.h"
#include "core/volume_id.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

constexpr std::chrono::seconds kPatience{60};  // for callers that set no deadline

link::Deadline DeadlineOf(const grpc::ServerContext& context) {
  return std::min(context.deadline(), std::chrono::system_clock::now() + kPatience);
}

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

absl::Status Router::Create(const csi::v1::CreateVolumeRequest& request, link::Deadline deadline,
                            csi::v1::CreateVolumeResponse& response) {
  ASSIGN_OR_RETURN(const Wanted wanted, ParseWanted(request));
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(request.name(), "CreateVolume"));
  // Made before, or perhaps made by a call that was not answered.
  std::string known = env_.hub.NodeOfName(request.name());
  Candidates candidates;
  if (known.empty()) {
    ASSIGN_OR_RETURN(candidates, AwaitPlace(request, wanted, deadline));
    known = env_.hub.NodeOfName(request.name());
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
    const bool untold = env_.hub.NodeOfName(request.name()).empty() && env_.hub.IsSettled();
    return untold ? NoPlace(candidates, wanted) : made;
  }
  if (!candidates.absent.empty()) {
    return WithCode(NoPlace(candidates, wanted), absl::StatusCode::kUnavailable);
  }
  return NoPlace(candidates, wanted);
}

// After a start the nodes are on their way back, and with them the knowledge which of them was told
// to make this volume before. Where only one may have it, that one is waited for; else all of them.
absl::StatusOr<Candidates> Router::AwaitPlace(const csi::v1::CreateVolumeRequest& request,
                                              const Wanted& wanted, link::Deadline deadline) {
  while (true) {
    const std::vector<link::NodeView> nodes = env_.hub.Nodes();
    const bool settled = env_.hub.IsSettled();
    Candidates candidates =
        Place(request.accessibility_requirements(), nodes, env_.driver_name, wanted);
    const std::size_t here = candidates.fitting.size() + candidates.unfitting.size();
    const bool one =
        request.has_accessibility_requirements() && here + candidates.absent.size() == 1;
    if (settled || (one && here == 1)) return candidates;
    const bool news = one ? env_.hub.WaitForMoreThan(nodes.size(), deadline)
                          : env_.hub.WaitUntilSettled(deadline);
    if (!news && !env_.hub.IsSettled()) {
      return Unavailable("the controller has just started and waits for its nodes; try again");
    }
  }
}

absl::Status Router::CreateOn(const std::string& node, const csi::v1::CreateVolumeRequest& request,
                              link::Deadline deadline, csi::v1::CreateVolumeResponse& response) {
  const bool known = env_.hub.NodeOfName(request.name()) == node;
  const bool connected = env_.hub.WaitFor(node, deadline);
  if (!connected) return Unavailable("node '{}' is not connected", node);
  env_.hub.CreationStarts(request.name(), node);
  link::v1::Command command;
  *command.mutable_create_volume() = request;
  command.mutable_create_volume()->clear_secrets();
  auto result = Ask(node, std::move(command), deadline);
  if (!result.ok()) {
    const bool refused = !IsUncertain(result.status().code());
    const bool not_there = !known || absl::IsResourceExhausted(result.status());
    if (refused && not_there) env_.hub.CreationFailed(request.name());
    return result.status();
  }
  response = std::move(*result->mutable_create_volume());
  env_.hub.Created(response.volume().volume_id(), request.name());
  return absl::OkStatus();
}

absl::Status Router::Delete(const csi::v1::DeleteVolumeRequest& request, link::Deadline deadline) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(request.volume_id(), "DeleteVolume"));
  link::v1::Command command;
  command.mutable_delete_volume()->set_volume_id(request.volume_id());
  const auto result = AskOwner(request.volume_id(), std::move(command), deadline);
  if (absl::IsNotFound(result.status())) return absl::OkStatus();
  RETURN_IF_ERROR(result.status());
  env_.hub.Deleted(request.volume_id());
  return absl::OkStatus();
}

// A token is "<node>|<that node's token>": node after node, each by its own pages.
absl::Status Router::List(const csi::v1::ListVolumesRequest& request, link::Deadline deadline,
                          csi::v1::ListVolumesResponse& response) {
  if (request.max_entries() < 0) return InvalidArgument("max_entries is negative");
  const std::string& token = request.starting_token();
  const std::size_t bar = token.find('|');
  if (!token.empty() && bar == std::string::npos) {
    return Aborted(
        "starting_token was not given by an earlier ListVolumes; start again without it");
  }
  if (!env_.hub.WaitUntilSettled(deadline)) {
    return Unavailable("the controller has just started and waits for its nodes; try again");
  }
  const std::vector<std::string> missing = env_.hub.Missing();
  if (!missing.empty()) {
    return Unavailable("node '{}' is not connected: its volumes are not known now",
                       missing.front());
  }
  const std::string first = token.substr(0, token.empty() ? 0 : bar);
  for (const link::NodeView& node : env_.hub.Nodes()) {
    if (node.name < first) continue;
    if (request.max_entries() != 0 && response.entries_size() == request.max_entries()) {
      response.set_next_token(node.name + "|");
      return absl::OkStatus();
    }
    link::v1::Command command;
    auto& list = *command.mutable_list_volumes();
    if (request.max_entries() != 0) {
      list.set_max_entries(request.max_entries() - response.entries_size());
    }
    if (node.name == first) list.set_starting_token(token.substr(bar + 1));
    ASSIGN_OR_RETURN(link::v1::Result result, Ask(node.name, std::move(command), deadline));
    for (auto& entry : *result.mutable_list_volumes()->mutable_entries()) {
      *response.add_entries() = std::move(entry);
    }
    if (!result.list_volumes().next_token().empty()) {
      response.set_next_token(node.name + "|" + result.list_volumes().next_token());
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status Router::Measure(const csi::v1::GetCapacityRequest& request,
                             csi::v1::GetCapacityResponse& response) {
  ASSIGN_OR_RETURN(const CapacityQuestion question, ParseCapacityQuestion(request));
  const std::string only = NodeOf(request.accessible_topology(), env_.driver_name);
  if (request.has_accessible_topology() && only.empty()) return absl::OkStatus();
  if (!question.possible) return absl::OkStatus();
  bool found = false;
  for (const link::NodeView& node : env_.hub.Nodes()) {
    if (!only.empty() && node.name != only) continue;
    found = true;
    AddCapacity(question, node, response);
  }
  // Nothing false is said of a node that is on its way back.
  if (!found && !only.empty()) return Unavailable("node '{}' is not connected", only);
  return absl::OkStatus();
}

absl::StatusOr<link::v1::Result> Router::Ask(const std::string& node, link::v1::Command command,
                                             link::Deadline deadline) {
  ASSIGN_OR_RETURN(link::v1::Result result, env_.hub.Call(node, std::move(command), deadline));
  if (result.code() == 0) return result;
  return MakeStatus(static_cast<absl::StatusCode>(result.code()), result.message());
}

absl::StatusOr<link::v1::Result> Router::AskOwner(const std::string& volume_id,
                                                  link::v1::Command command,
                                                  link::Deadline deadline) {
  const std::optional<VolumeId> id = VolumeId::Parse(volume_id);
  if (!id) return NotFound("there is no volume '{}'", volume_id);
  return Ask(id->node, std::move(command), deadline);
}

grpc::Status Router::CreateVolume(grpc::ServerContext* context,
                                  const csi::v1::CreateVolumeRequest* request,
                                  csi::v1::CreateVolumeResponse* response) {
  return env_.calls.Run({"CreateVolume", request->name()},
                        [&] { return Create(*request, DeadlineOf(*context), *response); });
}

grpc::Status Router::DeleteVolume(grpc::ServerContext* context,
                                  const csi::v1::DeleteVolumeRequest* request,
                                  csi::v1::DeleteVolumeResponse*) {
  return env_.calls.Run({"DeleteVolume", request->volume_id()},
                        [&] { return Delete(*request, DeadlineOf(*context)); });
}

grpc::Status Router::ValidateVolumeCapabilities(
    grpc::ServerContext* context, const csi::v1::ValidateVolumeCapabilitiesRequest* request,
    csi::v1::ValidateVolumeCapabilitiesResponse* response) {
  return env_.calls.Run(
      {"ValidateVolumeCapabilities", request->volume_id()}, [&]() -> absl::Status {
        RETURN_IF_ERROR(rpc::RequireId(request->volume_id(), "volume_id"));
        if (request->volume_capabilities().empty()) {
          return InvalidArgument("volume_capabilities is missing");
        }
        link::v1::Command command;
        *command.mutable_validate_volume_capabilities() = *request;
        command.mutable_validate_volume_capabilities()->clear_secrets();
        ASSIGN_OR_RETURN(link::v1::Result result,
                         AskOwner(request->volume_id(), std::move(command), DeadlineOf(*context)));
        *response = std::move(*result.mutable_validate_volume_capabilities());
        return absl::OkStatus();
      });
}

grpc::Status Router::ListVolumes(grpc::ServerContext* context,
                                 const csi::v1::ListVolumesRequest* request,
                                 csi::v1::ListVolumesResponse* response) {
  return env_.calls.Run({"ListVolumes", "", LogLevel::kDebug},
                        [&] { return List(*request, DeadlineOf(*context), *response); });
}

grpc::Status Router::GetCapacity(grpc::ServerContext*, const csi::v1::GetCapacityRequest* request,
                                 csi::v1::GetCapacityResponse* response) {
  return env_.calls.Run({"GetCapacity", "", LogLevel::kDebug},
                        [&] { return Measure(*request, *response); });
}

grpc::Status Router::ControllerGetCapabilities(
    grpc::ServerContext*, const csi::v1::ControllerGetCapabilitiesRequest*,
    csi::v1::ControllerGetCapabilitiesResponse* response) {
  return env_.calls.RunAlways({"ControllerGetCapabilities", "", LogLevel::kDebug}, [&] {
    AddCapabilities(*response);
    return absl::OkStatus();
  });
}

grpc::Status Router::ControllerExpandVolume(grpc::ServerContext* context,
                                            const csi::v1::ControllerExpandVolumeRequest* request,
                                            csi::v1::ControllerExpandVolumeResponse* response) {
  return env_.calls.Run({"ControllerExpandVolume", request->volume_id()}, [&]() -> absl::Status {
    RETURN_IF_ERROR(rpc::RequireId(request->volume_id(), "volume_id"));
    if (!request->has_capacity_range()) return InvalidArgument("capacity_range is missing");
    link::v1::Command command;
    *command.mutable_expand_volume() = *request;
    command.mutable_expand_volume()->clear_secrets();
    ASSIGN_OR_RETURN(link::v1::Result result,
                     AskOwner(request->volume_id(), std::move(command), DeadlineOf(*context)));
    *response = std::move(*result.mutable_expand_volume());
    return absl::OkStatus();
  });
}

grpc::Status Router::ControllerGetVolume(grpc::ServerContext* context,
                                         const csi::v1::ControllerGetVolumeRequest* request,
                                         csi::v1::ControllerGetVolumeResponse* response) {
  return env_.calls.Run(
      {"ControllerGetVolume", request->volume_id(), LogLevel::kDebug}, [&]() -> absl::Status {
        RETURN_IF_ERROR(rpc::RequireId(request->volume_id(), "volume_id"));
        link::v1::Command command;
        *command.mutable_get_volume() = *request;
        ASSIGN_OR_RETURN(link::v1::Result result,
                         AskOwner(request->volume_id(), std::move(command), DeadlineOf(*context)));
        *response = std::move(*result.mutable_get_volume());
        return absl::OkStatus();
      });
}

}  // namespace holdfast::controller
