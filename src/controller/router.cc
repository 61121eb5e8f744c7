// SPDX-License-Identifier: Apache-2.0
#include "controller/router.h"

#include <algorithm>

#include "controller/capabilities.h"
#include "controller/capacity.h"
#include "controller/create_request.h"
#include "controller/node_answers.h"
#include "controller/placement.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

constexpr std::chrono::seconds kPatience{60};  // for callers that set no deadline

}  // namespace

link::Deadline Router::DeadlineOf(const grpc::ServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  return std::chrono::steady_clock::now() + std::min<link::Deadline::duration>(left, kPatience);
}

bool Router::IsOwn(const std::string& volume_id) const {
  const auto located = env_.own_pools.Locate(volume_id);
  return located.ok();
}

bool Router::NamesOwnPool(const google::protobuf::Map<std::string, std::string>& parameters) const {
  const auto name = parameters.find("pool");
  return name != parameters.end() && !name->second.empty() &&
         env_.own_pools.Find(name->second).ok();
}

// The node that is asked first is most likely the one that the call waits for.
std::string Router::KeyOf(const csi::v1::CreateVolumeRequest& request) const {
  const auto pool = request.parameters().find("pool");
  if (NamesOwnPool(request.parameters())) return rpc::PoolKey(pool->second, "");
  const auto& required = request.accessibility_requirements();
  const auto& places = required.preferred().empty() ? required.requisite() : required.preferred();
  const std::string node = places.empty() ? "" : NodeOf(places.Get(0), env_.driver_name);
  if (node.empty()) return "";
  return rpc::PoolKey(pool == request.parameters().end() ? "" : pool->second, node);
}

absl::Status Router::Delete(const csi::v1::DeleteVolumeRequest& request, link::Deadline deadline) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(request.volume_id(), "DeleteVolume"));
  link::v1::Command command;
  command.mutable_delete_volume()->set_volume_id(request.volume_id());
  const auto result = nodes_.CallOwner(request.volume_id(), std::move(command), deadline);
  if (absl::IsNotFound(result.status())) return absl::OkStatus();
  RETURN_IF_ERROR(result.status());
  env_.hub.names().Deleted(*VolumeId::Parse(request.volume_id()));
  return absl::OkStatus();
}

absl::Status Router::Create(const csi::v1::CreateVolumeRequest& request, link::Deadline deadline,
                            csi::v1::CreateVolumeResponse& response) {
  ASSIGN_OR_RETURN(const PlacementRequest wanted, VolumeCreation::ParsePlacementRequest(request));
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(NameKey(request.name()), "CreateVolume"));
  RETURN_IF_ERROR(env_.own.RequireUnused(request.name(), /*but=*/""));
  return creation_.Create(request, wanted, deadline, response);
}

// A class whose pool was changed does not make a second volume of a name either.
absl::Status Router::CreateOwn(const csi::v1::CreateVolumeRequest& request,
                               csi::v1::CreateVolumeResponse& response) {
  RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(NameKey(request.name()), "CreateVolume"));
  RETURN_IF_ERROR(creation_.LeaveNodes(request.name()));
  return env_.own.Create(request, response);
}

absl::Status Router::Validate(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
                              link::Deadline deadline,
                              csi::v1::ValidateVolumeCapabilitiesResponse& response) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  if (request.volume_capabilities().empty()) {
    return InvalidArgument("volume_capabilities is missing");
  }
  link::v1::Command command;
  *command.mutable_validate_volume_capabilities() = request;
  command.mutable_validate_volume_capabilities()->clear_secrets();
  ASSIGN_OR_RETURN(const link::v1::Result result,
                   nodes_.CallOwner(request.volume_id(), std::move(command), deadline));
  return TakeConfirmation(result, *VolumeId::Parse(request.volume_id()), request, response);
}

absl::Status Router::Expand(const csi::v1::ControllerExpandVolumeRequest& request,
                            link::Deadline deadline,
                            csi::v1::ControllerExpandVolumeResponse& response) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  if (!request.has_capacity_range()) return InvalidArgument("capacity_range is missing");
  ASSIGN_OR_RETURN(const rpc::CapacityRange range,
                   rpc::ParseCapacityRange(request.capacity_range()));
  link::v1::Command command;
  *command.mutable_expand_volume() = request;
  command.mutable_expand_volume()->clear_secrets();
  ASSIGN_OR_RETURN(const link::v1::Result result,
                   nodes_.CallOwner(request.volume_id(), std::move(command), deadline));
  return TakeExpansion(result, *VolumeId::Parse(request.volume_id()),
                       {.least = range.required, .most = range.limit}, response);
}

absl::Status Router::Get(const csi::v1::ControllerGetVolumeRequest& request,
                         link::Deadline deadline, csi::v1::ControllerGetVolumeResponse& response) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  link::v1::Command command;
  *command.mutable_get_volume() = request;
  ASSIGN_OR_RETURN(const link::v1::Result result,
                   nodes_.CallOwner(request.volume_id(), std::move(command), deadline));
  return TakeDescription(result, *VolumeId::Parse(request.volume_id()), env_.driver_name, response);
}

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
  if (nodes.empty() && !only.empty()) return Unavailable("node '{}' is not connected", only);
  return absl::OkStatus();
}

grpc::Status Router::CreateVolume(grpc::ServerContext* context,
                                  const csi::v1::CreateVolumeRequest* request,
                                  csi::v1::CreateVolumeResponse* response) {
  return env_.calls.Run(context,
                        {"CreateVolume", request->name(), LogLevel::kInfo, KeyOf(*request)}, [&] {
                          return NamesOwnPool(request->parameters())
                                     ? CreateOwn(*request, *response)
                                     : Create(*request, DeadlineOf(*context), *response);
                        });
}

grpc::Status Router::DeleteVolume(grpc::ServerContext* context,
                                  const csi::v1::DeleteVolumeRequest* request,
                                  csi::v1::DeleteVolumeResponse* response) {
  if (IsOwn(request->volume_id())) return env_.own.DeleteVolume(context, request, response);
  return env_.calls.Run(context, {"DeleteVolume", request->volume_id()},
                        [&] { return Delete(*request, DeadlineOf(*context)); });
}

grpc::Status Router::ValidateVolumeCapabilities(
    grpc::ServerContext* context, const csi::v1::ValidateVolumeCapabilitiesRequest* request,
    csi::v1::ValidateVolumeCapabilitiesResponse* response) {
  if (IsOwn(request->volume_id()))
    return env_.own.ValidateVolumeCapabilities(context, request, response);
  return env_.calls.Run(context, {"ValidateVolumeCapabilities", request->volume_id()},
                        [&] { return Validate(*request, DeadlineOf(*context), *response); });
}

grpc::Status Router::ListVolumes(grpc::ServerContext* context,
                                 const csi::v1::ListVolumesRequest* request,
                                 csi::v1::ListVolumesResponse* response) {
  return env_.calls.Run(context, {"ListVolumes", "", LogLevel::kDebug},
                        [&] { return List(*request, DeadlineOf(*context), *response); });
}

grpc::Status Router::GetCapacity(grpc::ServerContext* context,
                                 const csi::v1::GetCapacityRequest* request,
                                 csi::v1::GetCapacityResponse* response) {
  if (NamesOwnPool(request->parameters())) return env_.own.GetCapacity(context, request, response);
  return env_.calls.Run(context, {"GetCapacity", "", LogLevel::kDebug},
                        [&] { return AnswerCapacity(*request, *response); });
}

grpc::Status Router::ControllerGetCapabilities(
    grpc::ServerContext*, const csi::v1::ControllerGetCapabilitiesRequest*,
    csi::v1::ControllerGetCapabilitiesResponse* response) {
  return env_.calls.RunAlways({"ControllerGetCapabilities", "", LogLevel::kDebug}, [&] {
    AddCapabilities(*response, env_.attach);
    return absl::OkStatus();
  });
}

grpc::Status Router::ControllerExpandVolume(grpc::ServerContext* context,
                                            const csi::v1::ControllerExpandVolumeRequest* request,
                                            csi::v1::ControllerExpandVolumeResponse* response) {
  if (IsOwn(request->volume_id()))
    return env_.own.ControllerExpandVolume(context, request, response);
  return env_.calls.Run(context, {"ControllerExpandVolume", request->volume_id()},
                        [&] { return Expand(*request, DeadlineOf(*context), *response); });
}

grpc::Status Router::ControllerGetVolume(grpc::ServerContext* context,
                                         const csi::v1::ControllerGetVolumeRequest* request,
                                         csi::v1::ControllerGetVolumeResponse* response) {
  if (IsOwn(request->volume_id())) return env_.own.ControllerGetVolume(context, request, response);
  return env_.calls.Run(context, {"ControllerGetVolume", request->volume_id(), LogLevel::kDebug},
                        [&] { return Get(*request, DeadlineOf(*context), *response); });
}

}  // namespace holdfast::controller
