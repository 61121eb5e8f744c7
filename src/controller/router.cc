// SPDX-License-Identifier: Apache-2.0
#include "controller/router.h"

#include <algorithm>
#include <memory>

#include "controller/parameters.h"
#include "controller/placement.h"
#include "controller/rpc_table.h"
#include "controller/snapshot_request.h"
#include "controller/volume_requests.h"
#include "core/log.h"
#include "rpc/topology.h"

namespace holdfast::controller {
namespace {

std::string TextOf(const google::protobuf::Map<std::string, std::string>& parameters) {
  const auto given = parameters.find("pool");
  return given == parameters.end() ? "" : given->second;
}

// Of several, the first one stands for all; empty: none is named.
std::string FirstPool(const google::protobuf::Map<std::string, std::string>& parameters) {
  const auto names = ParsePoolNames(TextOf(parameters));
  return names.ok() && !names->empty() ? names->front() : "";
}

}  // namespace

// Each call about a volume of the own pools is answered by the own service, in its own frame.
grpc::Status Router::Serve(grpc::ServerContext* context, const Message& request, Message& response,
                           const Body& body, const std::string& pool) {
  const Rpc& rpc = RpcOf(request);
  const std::string subject = SubjectOf(request);
  if (rpc.answered_by == AnsweredBy::kOwner && IsOwn(subject)) {
    return rpc.run(env_.own, context, request, response);
  }
  return env_.calls.Run(context, {rpc.method, subject, rpc.level, pool}, [&]() -> absl::Status {
    if (rpc.check) RETURN_IF_ERROR(rpc.check(request));
    if (rpc.lock == Lock::kNone) return body(DeadlineOf(context));
    ASSIGN_OR_RETURN(
        const auto lock,
        env_.volume_locks.TryLock(controller::KeyOf(rpc.lock, request), std::string(rpc.method)));
    return body(DeadlineOf(context));
  });
}

grpc::Status Router::Forward(grpc::ServerContext* context, const Message& request,
                             Message& response) {
  return Serve(context, request, response,
               [&](link::Deadline deadline) { return CallOwner(request, deadline, response); });
}

absl::Status Router::CallOwner(const Message& request, link::Deadline deadline, Message& response) {
  const Rpc& rpc = RpcOf(request);
  const std::string subject = SubjectOf(request);
  RETURN_IF_ERROR(RequireNotLost(subject));
  ASSIGN_OR_RETURN(const std::string bytes, nodes_.CallOwner(subject, request, deadline));
  const VolumeId id = *ParseSubject(subject);
  const std::unique_ptr<Message> answered(response.New());
  RETURN_IF_ERROR(ParseAnswer(id.node, bytes, *answered));
  if (!rpc.take) return absl::OkStatus();
  return rpc.take(request, {id, env_.driver_name}, *answered, response);
}

absl::Status Router::RequireNotLost(const std::string& subject) const {
  const auto id = ParseSubject(subject);
  if (!id || !env_.hub.IsLost(id->node, id->pool)) return absl::OkStatus();
  return FailedPrecondition("'{}' is in pool '{}' of node '{}', which is declared lost", subject,
                            id->pool, id->node);
}

// What is deleted there is not erased: a person has said that nobody has it any more.
bool Router::IsGone(const std::string& subject) const {
  if (RequireNotLost(subject).ok()) return false;
  LogWarning(
      "'{}' is deleted although its bytes are not erased: its pool is declared lost (lostPools)",
      subject);
  return true;
}

absl::Status Router::AskNode(const std::string& node, const Message& request,
                             link::Deadline deadline, Message& answered) {
  ASSIGN_OR_RETURN(const std::string bytes, nodes_.Ask(node, request, deadline));
  return ParseAnswer(node, bytes, answered);
}

bool Router::IsOwn(const std::string& subject) const {
  const auto id = ParseSubject(subject);
  return id && env_.own_pools.Locate(id->ToString()).ok();
}

bool Router::NamesOwnPool(const google::protobuf::Map<std::string, std::string>& parameters) const {
  const auto names = ParsePoolNames(TextOf(parameters));
  return names.ok() && std::ranges::any_of(*names, [&](const std::string& name) {
           return env_.own_pools.Find(name).ok();
         });
}

// The node that is asked first is most likely the one that the call waits for.
std::string Router::KeyOf(const csi::v1::CreateVolumeRequest& request) const {
  const std::string pool = FirstPool(request.parameters());
  if (NamesOwnPool(request.parameters())) return rpc::PoolKey(pool, "");
  const auto source = ParseContentSource(request).value_or(std::nullopt);
  if (source) return rpc::PoolKey(source->id.pool, source->id.node);
  const auto& required = request.accessibility_requirements();
  const auto& places = required.preferred().empty() ? required.requisite() : required.preferred();
  const std::string node = places.empty() ? "" : NodeOf(places.Get(0), env_.driver_name);
  if (node.empty()) return "";
  return rpc::PoolKey(pool, node);
}

absl::Status Router::Delete(const csi::v1::DeleteVolumeRequest& request, link::Deadline deadline,
                            csi::v1::DeleteVolumeResponse& response) {
  if (!IsGone(request.volume_id())) {
    const absl::Status deleted = CallOwner(request, deadline, response);
    if (absl::IsNotFound(deleted)) return absl::OkStatus();
    RETURN_IF_ERROR(deleted);
  }
  // A node has no volume with the id of a snapshot, and says so by OK.
  if (const auto id = VolumeId::Parse(request.volume_id())) env_.hub.names().Deleted(*id);
  return absl::OkStatus();
}

absl::Status Router::Create(const csi::v1::CreateVolumeRequest& request, link::Deadline deadline,
                            csi::v1::CreateVolumeResponse& response) {
  // A class whose pool was changed does not make a second volume of a name either.
  if (NamesOwnPool(request.parameters())) {
    RETURN_IF_ERROR(creation_.LeaveNodes(request.name()));
    ASSIGN_OR_RETURN(const auto source, ParseContentSource(request));
    if (!source || source->id.node.empty()) return env_.own.Create(request, response);
    return CreateInOwnPool(request, *source, deadline, response);
  }
  ASSIGN_OR_RETURN(const PlacementRequest wanted, VolumeCreation::ParsePlacementRequest(request));
  RETURN_IF_ERROR(env_.own.RequireUnused(request.name(), /*but=*/""));
  return creation_.Create(request, wanted, deadline, response);
}

grpc::Status Router::CreateVolume(grpc::ServerContext* context,
                                  const csi::v1::CreateVolumeRequest* request,
                                  csi::v1::CreateVolumeResponse* response) {
  return Serve(
      context, *request, *response,
      [&](link::Deadline deadline) { return Create(*request, deadline, *response); },
      KeyOf(*request));
}

grpc::Status Router::DeleteVolume(grpc::ServerContext* context,
                                  const csi::v1::DeleteVolumeRequest* request,
                                  csi::v1::DeleteVolumeResponse* response) {
  return Serve(context, *request, *response,
               [&](link::Deadline deadline) { return Delete(*request, deadline, *response); });
}

grpc::Status Router::ValidateVolumeCapabilities(
    grpc::ServerContext* context, const csi::v1::ValidateVolumeCapabilitiesRequest* request,
    csi::v1::ValidateVolumeCapabilitiesResponse* response) {
  return Forward(context, *request, *response);
}

grpc::Status Router::GetCapacity(grpc::ServerContext* context,
                                 const csi::v1::GetCapacityRequest* request,
                                 csi::v1::GetCapacityResponse* response) {
  if (NamesOwnPool(request->parameters())) return env_.own.GetCapacity(context, request, response);
  return Serve(context, *request, *response,
               [&](link::Deadline) { return AnswerCapacity(*request, *response); });
}

grpc::Status Router::ControllerGetCapabilities(
    grpc::ServerContext* context, const csi::v1::ControllerGetCapabilitiesRequest* request,
    csi::v1::ControllerGetCapabilitiesResponse* response) {
  return env_.own.ControllerGetCapabilities(context, request, response);
}

grpc::Status Router::ControllerExpandVolume(grpc::ServerContext* context,
                                            const csi::v1::ControllerExpandVolumeRequest* request,
                                            csi::v1::ControllerExpandVolumeResponse* response) {
  return Forward(context, *request, *response);
}

grpc::Status Router::ControllerGetVolume(grpc::ServerContext* context,
                                         const csi::v1::ControllerGetVolumeRequest* request,
                                         csi::v1::ControllerGetVolumeResponse* response) {
  return Serve(context, *request, *response, [&](link::Deadline deadline) -> absl::Status {
    const absl::Status lost = RequireNotLost(request->volume_id());
    if (lost.ok()) return CallOwner(*request, deadline, *response);
    csi::v1::Volume& volume = *response->mutable_volume();
    volume.set_volume_id(request->volume_id());
    *volume.add_accessible_topology() =
        rpc::NodeTopology(env_.driver_name, VolumeId::Parse(request->volume_id())->node);
    auto& condition = *response->mutable_status()->mutable_volume_condition();
    condition.set_abnormal(true);
    condition.set_message(MessageOf(lost));
    return absl::OkStatus();
  });
}

}  // namespace holdfast::controller
