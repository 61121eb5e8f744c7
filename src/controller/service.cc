// SPDX-License-Identifier: Apache-2.0
#include "controller/service.h"

#include <algorithm>
#include <optional>

#include "controller/content_messages.h"
#include "controller/node_calls.h"
#include "controller/parameters.h"
#include "controller/pool_choice.h"
#include "core/volume_use.h"
#include "fs/mounted_volumes.h"
#include "rpc/fields.h"
#include "rpc/topology.h"

namespace holdfast::controller {
namespace {

// About 2 MiB with their texts.
constexpr std::size_t kMostVolumes = 4000;

void SetCondition(csi::v1::VolumeCondition& target, const VolumeCondition& condition) {
  target.set_abnormal(condition.abnormal);
  target.set_message(condition.message);
  target = TakeCondition(target);
}

// A filesystem that has failed comes before what the storage says, as in NodeGetVolumeStats.
void AddProblem(const std::map<std::string, std::string>& problems, const Volume& volume,
                VolumeCondition& condition) {
  const auto found = problems.find(volume.id.uuid);
  if (found != problems.end()) condition = VolumeCondition{true, found->second};
}

void AddCapabilities(csi::v1::ControllerGetCapabilitiesResponse& response, bool attach) {
  using Rpc = csi::v1::ControllerServiceCapability::RPC;
  std::vector<Rpc::Type> types = {Rpc::CREATE_DELETE_VOLUME,
                                  Rpc::LIST_VOLUMES,
                                  Rpc::GET_CAPACITY,
                                  Rpc::EXPAND_VOLUME,
                                  Rpc::VOLUME_CONDITION,
                                  Rpc::GET_VOLUME,
                                  Rpc::SINGLE_NODE_MULTI_WRITER,
                                  Rpc::CREATE_DELETE_SNAPSHOT,
                                  Rpc::LIST_SNAPSHOTS,
                                  Rpc::GET_SNAPSHOT,
                                  Rpc::CLONE_VOLUME};
  if (attach) types.push_back(Rpc::PUBLISH_UNPUBLISH_VOLUME);
  for (const auto type : types) response.add_capabilities()->mutable_rpc()->set_type(type);
}

// Why the volume cannot do what is asked of it; empty if it can.
std::string Mismatch(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
                     const Volume& volume, bool on_one_node) {
  for (const csi::v1::VolumeCapability& capability : request.volume_capabilities()) {
    constexpr auto kUnsupported = absl::StatusCode::kFailedPrecondition;
    const auto use = rpc::ParseCapability(capability, kUnsupported);
    absl::Status suitable = use.status();
    if (use.ok()) suitable = RequireReach(*use, on_one_node, kUnsupported);
    if (suitable.ok()) suitable = RequireSuitable(volume, *use);
    if (!suitable.ok()) return MessageOf(suitable);
  }
  if (request.parameters().empty()) return "";
  const auto parameters = ParseParameters(request.parameters());
  if (!parameters.ok()) return MessageOf(parameters.status());
  return parameters->given == volume.parameters ? "" : "parameters differ from the volume's";
}

}  // namespace

absl::Status Service::Delete(const csi::v1::DeleteVolumeRequest& request) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  const auto located =
      LocateAs(request.volume_id(), request.secrets(), pool::Credentials::kRequired);
  if (absl::IsNotFound(located.status())) return absl::OkStatus();
  RETURN_IF_ERROR(located.status());
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(request.volume_id(), "DeleteVolume"));
  const auto stage = env_.state.stages.Find(request.volume_id());
  if (stage.ok()) {
    const auto device = located->pool->FindDevice(located->id);
    if (device.ok() && device->has_value()) {
      return FailedPrecondition("volume '{}' is in use: it is staged at '{}'", request.volume_id(),
                                stage->staging_path);
    }
    // A device may still show the image that was here before another took its place.
    if (device.ok()) RETURN_IF_ERROR(located->pool->UnmapDevice(located->id));
  }
  RETURN_IF_ERROR(located->pool->Delete(located->id));
  return env_.state.RemoveAll(request.volume_id());
}

absl::Status Service::Validate(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
                               csi::v1::ValidateVolumeCapabilitiesResponse& response) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  if (request.volume_capabilities().empty()) {
    return InvalidArgument("volume_capabilities is missing");
  }
  RETURN_IF_ERROR(rpc::CheckMap(request.parameters(), "parameters"));
  if (!request.mutable_parameters().empty()) {
    return InvalidArgument("mutable_parameters is not supported: volumes cannot be modified");
  }
  for (const csi::v1::VolumeCapability& capability : request.volume_capabilities()) {
    const auto use = rpc::ParseCapability(capability, absl::StatusCode::kFailedPrecondition);
    if (absl::IsInvalidArgument(use.status())) return use.status();
  }
  ASSIGN_OR_RETURN(const auto located, Locate(request.volume_id()));
  ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
  response.set_message(Mismatch(request, volume, !located.pool->info().node.empty()));
  if (!response.message().empty()) return absl::OkStatus();
  auto& confirmed = *response.mutable_confirmed();
  *confirmed.mutable_volume_context() = request.volume_context();
  *confirmed.mutable_volume_capabilities() = request.volume_capabilities();
  *confirmed.mutable_parameters() = request.parameters();
  return absl::OkStatus();
}

absl::Status Service::List(const csi::v1::ListVolumesRequest& request,
                           csi::v1::ListVolumesResponse& response) {
  if (request.max_entries() < 0) return InvalidArgument("max_entries is negative");
  if (!request.starting_token().empty() && !VolumeId::Parse(request.starting_token())) {
    return Aborted(
        "starting_token was not given by an earlier ListVolumes; start again without it");
  }
  const auto wanted = static_cast<std::size_t>(request.max_entries());
  const std::size_t limit = wanted == 0 ? kMostVolumes : std::min(wanted, kMostVolumes);
  // One more than that shows whether there is a next page.
  ASSIGN_OR_RETURN(std::vector<Volume> volumes,
                   env_.pools.List(request.starting_token(), limit + 1));
  if (volumes.size() > limit) {
    volumes.pop_back();
    response.set_next_token(volumes.back().id.ToString());
  }
  ASSIGN_OR_RETURN(auto conditions, env_.pools.Conditions(volumes));
  ASSIGN_OR_RETURN(const auto problems, fs::FindProblems(env_.pools.devices()));
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    AddProblem(problems, volumes[i], conditions.at(i));
    auto& entry = *response.add_entries();
    ASSIGN_OR_RETURN(const pool::Pool* const pool, env_.pools.Find(volumes[i].id.pool));
    *entry.mutable_volume() = Describe(volumes[i], pool->info());
    SetCondition(*entry.mutable_status()->mutable_volume_condition(), conditions.at(i));
  }
  return absl::OkStatus();
}

absl::Status Service::Expand(const csi::v1::ControllerExpandVolumeRequest& request,
                             csi::v1::ControllerExpandVolumeResponse& response) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  if (!request.has_capacity_range()) return InvalidArgument("capacity_range is missing");
  const auto& given = request.capacity_range();
  ASSIGN_OR_RETURN(const CapacityRange range,
                   CapacityRange::Parse(given.required_bytes(), given.limit_bytes()));
  ASSIGN_OR_RETURN(const auto located,
                   LocateAs(request.volume_id(), request.secrets(), pool::Credentials::kRequired));
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(request.volume_id(), "ControllerExpandVolume"));
  VolumeUse use;
  if (request.has_volume_capability()) {
    constexpr auto kUnsupported = absl::StatusCode::kInvalidArgument;
    ASSIGN_OR_RETURN(use, rpc::ParseCapability(request.volume_capability(), kUnsupported));
    RETURN_IF_ERROR(RequireReach(use, !located.pool->info().node.empty(), kUnsupported));
    ASSIGN_OR_RETURN(const Volume present, located.pool->Get(located.id));
    RETURN_IF_ERROR(WithCode(RequireSuitable(present, use), kUnsupported));
  }
  const auto volume = located.pool->Grow(located.id, range.required, range.limit);
  // RESOURCE_EXHAUSTED would leave the CO's user unable to take the request back.
  if (absl::IsResourceExhausted(volume.status())) {
    return WithCode(volume.status(), absl::StatusCode::kOutOfRange);
  }
  RETURN_IF_ERROR(volume.status());
  response.set_capacity_bytes(volume->capacity_bytes);
  // Raw block shows its size at once, except to readers on other nodes, whose kernel is not
  // notified; and a filesystem that is not there yet will be made that large.
  response.set_node_expansion_required(volume->state == VolumeState::kFormatted ||
                                       (volume->access_type == AccessType::kBlock &&
                                        SharingOf(use.access_mode) == Sharing::kReaders));
  return absl::OkStatus();
}

absl::Status Service::Get(const csi::v1::ControllerGetVolumeRequest& request,
                          csi::v1::ControllerGetVolumeResponse& response) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  ASSIGN_OR_RETURN(const auto located, Locate(request.volume_id()));
  ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
  *response.mutable_volume() = Describe(volume, located.pool->info());
  VolumeCondition condition = located.pool->Condition(volume);
  ASSIGN_OR_RETURN(const auto problems, fs::FindProblems(env_.pools.devices()));
  AddProblem(problems, volume, condition);
  SetCondition(*response.mutable_status()->mutable_volume_condition(), condition);
  return absl::OkStatus();
}

// A volume that another node or an unknown pool owns may well exist: the CO must ask again, and
// must never take the answer for "gone".
absl::StatusOr<pool::Pools::Located> Service::Locate(const std::string& volume_id) const {
  auto located = env_.pools.Locate(volume_id);
  if (located.ok() || absl::IsNotFound(located.status())) return located;
  return WithCode(located.status(), absl::StatusCode::kUnavailable);
}

absl::StatusOr<pool::Pools::Located> Service::LocateAs(
    const std::string& volume_id, const google::protobuf::Map<std::string, std::string>& secrets,
    pool::Credentials credentials) const {
  ASSIGN_OR_RETURN(auto located, Locate(volume_id));
  ASSIGN_OR_RETURN(located.pool,
                   pool::AccessPool(*located.pool, rpc::SecretsIn(secrets), credentials));
  return located;
}

std::string Service::KeyOf(
    const google::protobuf::Map<std::string, std::string>& parameters) const {
  const auto parsed = ParseParameters(parameters);
  if (!parsed.ok()) return "";
  const auto pools = AllowedPools(*parsed, env_.pools);
  if (!pools.ok()) return "";
  const pool::PoolInfo& first = pools->front()->info();  // of several, it stands for all
  return rpc::PoolKey(first.name, first.node);
}

absl::Status Service::CheckTopology(const csi::v1::TopologyRequirement& requirement,
                                    const pool::PoolInfo& pool) const {
  const csi::v1::Topology reach = rpc::AccessibleTopology(pool, env_.driver_name);
  const auto& requisite = requirement.requisite();
  const bool fits = requisite.empty() || std::ranges::any_of(requisite, [&](const auto& place) {
                      return rpc::IsAccessibleFrom(place, reach);
                    });
  if (fits) return absl::OkStatus();
  const auto& [key, value] = *reach.segments().begin();
  return ResourceExhausted(
      "accessibility_requirements: none of the requisite topologies has {}={}, which the nodes "
      "that reach pool '{}' have",
      key, value, pool.name);
}

csi::v1::Volume Service::Describe(const Volume& volume, const pool::PoolInfo& pool) const {
  csi::v1::Volume described;
  described.set_volume_id(volume.id.ToString());
  described.set_capacity_bytes(volume.capacity_bytes);
  csi::v1::Topology reach = rpc::AccessibleTopology(pool, env_.driver_name);
  if (!reach.segments().empty()) *described.add_accessible_topology() = std::move(reach);
  return described;
}

grpc::Status Service::CreateVolume(grpc::ServerContext* context,
                                   const csi::v1::CreateVolumeRequest* request,
                                   csi::v1::CreateVolumeResponse* response) {
  return RunCreation(context, *request, *response, nullptr);
}

grpc::Status Service::DeleteVolume(grpc::ServerContext* context,
                                   const csi::v1::DeleteVolumeRequest* request,
                                   csi::v1::DeleteVolumeResponse*) {
  return env_.calls.Run(context, {"DeleteVolume", request->volume_id()},
                        [&] { return Delete(*request); });
}

grpc::Status Service::ValidateVolumeCapabilities(
    grpc::ServerContext* context, const csi::v1::ValidateVolumeCapabilitiesRequest* request,
    csi::v1::ValidateVolumeCapabilitiesResponse* response) {
  return env_.calls.Run(context, {"ValidateVolumeCapabilities", request->volume_id()},
                        [&] { return Validate(*request, *response); });
}

grpc::Status Service::ListVolumes(grpc::ServerContext* context,
                                  const csi::v1::ListVolumesRequest* request,
                                  csi::v1::ListVolumesResponse* response) {
  return env_.calls.Run(context, {"ListVolumes", "", LogLevel::kDebug},
                        [&] { return List(*request, *response); });
}

grpc::Status Service::GetCapacity(grpc::ServerContext* context,
                                  const csi::v1::GetCapacityRequest* request,
                                  csi::v1::GetCapacityResponse* response) {
  return env_.calls.Run(context,
                        {"GetCapacity", "", LogLevel::kDebug, KeyOf(request->parameters())},
                        [&] { return AnswerCapacity(*request, *response); });
}

grpc::Status Service::ControllerGetCapabilities(
    grpc::ServerContext*, const csi::v1::ControllerGetCapabilitiesRequest*,
    csi::v1::ControllerGetCapabilitiesResponse* response) {
  return env_.calls.RunAlways({"ControllerGetCapabilities", "", LogLevel::kDebug}, [&] {
    AddCapabilities(*response, env_.attach);
    return absl::OkStatus();
  });
}

grpc::Status Service::ControllerExpandVolume(grpc::ServerContext* context,
                                             const csi::v1::ControllerExpandVolumeRequest* request,
                                             csi::v1::ControllerExpandVolumeResponse* response) {
  return env_.calls.Run(context, {"ControllerExpandVolume", request->volume_id()},
                        [&] { return Expand(*request, *response); });
}

grpc::Status Service::ControllerGetVolume(grpc::ServerContext* context,
                                          const csi::v1::ControllerGetVolumeRequest* request,
                                          csi::v1::ControllerGetVolumeResponse* response) {
  return env_.calls.Run(context, {"ControllerGetVolume", request->volume_id(), LogLevel::kDebug},
                        [&] { return Get(*request, *response); });
}

}  // namespace holdfast::controller
