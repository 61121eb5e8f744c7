// SPDX-License-Identifier: Apache-2.0
#include "node/service.h"

#include "core/volume_use.h"
#include "node/volume_stats.h"
#include "os/request_path.h"
#include "rpc/fields.h"
#include "rpc/kubernetes_objects.h"
#include "rpc/topology.h"

namespace holdfast::node {
namespace {

using Capability = csi::v1::NodeServiceCapability;

constexpr Capability::RPC::Type kCapabilities[] = {
    Capability::RPC::STAGE_UNSTAGE_VOLUME,
    Capability::RPC::GET_VOLUME_STATS,
    Capability::RPC::EXPAND_VOLUME,
    Capability::RPC::VOLUME_CONDITION,
    Capability::RPC::SINGLE_NODE_MULTI_WRITER,
};

void AddUsage(csi::v1::NodeGetVolumeStatsResponse& response, csi::v1::VolumeUsage::Unit unit,
              std::int64_t total, std::int64_t used, std::int64_t available) {
  auto& usage = *response.add_usage();
  usage.set_unit(unit);
  usage.set_total(total);
  usage.set_used(used);
  usage.set_available(available);
}

// What a request says of the volume besides its id must be true of it, although nothing depends on
// it: the volume is found by its id, and its mounts by its device. Whether it is at the path is
// seen later, under its lock.
absl::Status CheckExpansion(const csi::v1::NodeExpandVolumeRequest& request,
                            const pool::Pools& pools) {
  ASSIGN_OR_RETURN(const auto located,
                   pools.LocateAs(request.volume_id(), rpc::SecretsIn(request.secrets()),
                                  pool::Credentials::kOptional));
  ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
  RETURN_IF_ERROR(os::CheckPathText(request.volume_path(), "volume_path"));
  if (!request.staging_target_path().empty()) {
    RETURN_IF_ERROR(os::CheckPathText(request.staging_target_path(), "staging_target_path"));
  }
  if (!request.has_volume_capability()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const VolumeUse use, rpc::ParseCapability(request.volume_capability(),
                                                             absl::StatusCode::kInvalidArgument));
  RETURN_IF_ERROR(
      RequireReach(use, !located.pool->info().node.empty(), absl::StatusCode::kInvalidArgument));
  return WithCode(RequireSuitable(volume, use), absl::StatusCode::kInvalidArgument);
}

}  // namespace

absl::Status Service::Stage(const csi::v1::NodeStageVolumeRequest& request) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  RETURN_IF_ERROR(rpc::RequirePath(request.staging_target_path(), "staging_target_path"));
  if (!request.has_volume_capability()) return InvalidArgument("volume_capability is missing");
  ASSIGN_OR_RETURN(
      const VolumeUse use,
      rpc::ParseCapability(request.volume_capability(), absl::StatusCode::kFailedPrecondition));
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(request.volume_id(), "NodeStageVolume"));
  return stager_.Stage(request.volume_id(), request.staging_target_path(), use,
                       rpc::SecretsIn(request.secrets()));
}

absl::Status Service::Unstage(const csi::v1::NodeUnstageVolumeRequest& request) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  RETURN_IF_ERROR(rpc::RequirePath(request.staging_target_path(), "staging_target_path"));
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(request.volume_id(), "NodeUnstageVolume"));
  return stager_.Unstage(request.volume_id(), request.staging_target_path());
}

absl::Status Service::Publish(const csi::v1::NodePublishVolumeRequest& request) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  RETURN_IF_ERROR(rpc::RequirePath(request.target_path(), "target_path"));
  if (!request.has_volume_capability()) return InvalidArgument("volume_capability is missing");
  ASSIGN_OR_RETURN(
      const VolumeUse use,
      rpc::ParseCapability(request.volume_capability(), absl::StatusCode::kFailedPrecondition));
  if (request.staging_target_path().empty()) {
    return FailedPrecondition("staging_target_path is missing: volumes are staged first");
  }
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(request.volume_id(), "NodePublishVolume"));
  return publisher_.Publish(PublishRequest{.volume_id = request.volume_id(),
                                           .staging_path = request.staging_target_path(),
                                           .target_path = request.target_path(),
                                           .use = use,
                                           .read_only = request.readonly(),
                                           .pod = rpc::PodIn(request.volume_context()),
                                           .secrets = rpc::SecretsIn(request.secrets())});
}

absl::Status Service::Unpublish(const csi::v1::NodeUnpublishVolumeRequest& request) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  RETURN_IF_ERROR(rpc::RequirePath(request.target_path(), "target_path"));
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(request.volume_id(), "NodeUnpublishVolume"));
  return publisher_.Unpublish(request.volume_id(), request.target_path());
}

absl::Status Service::Stats(const csi::v1::NodeGetVolumeStatsRequest& request,
                            csi::v1::NodeGetVolumeStatsResponse& response) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  RETURN_IF_ERROR(rpc::RequirePath(request.volume_path(), "volume_path"));
  if (!request.staging_target_path().empty()) {
    RETURN_IF_ERROR(os::CheckPathText(request.staging_target_path(), "staging_target_path"));
  }
  ASSIGN_OR_RETURN(const VolumeStats stats,
                   MeasureVolume(env_.pools, request.volume_id(), request.volume_path()));
  response.mutable_volume_condition()->set_abnormal(stats.condition.abnormal);
  response.mutable_volume_condition()->set_message(stats.condition.message);
  // kubelet wants a usage, or it does not look at the condition either.
  if (!stats.filesystem) {
    auto& usage = *response.add_usage();
    usage.set_unit(csi::v1::VolumeUsage::BYTES);
    usage.set_total(stats.capacity);
    return absl::OkStatus();
  }
  const os::FilesystemSpace& space = *stats.filesystem;
  AddUsage(response, csi::v1::VolumeUsage::BYTES, space.total, space.used, space.available);
  if (space.inodes_total > 0) {  // btrfs does not count inodes
    AddUsage(response, csi::v1::VolumeUsage::INODES, space.inodes_total, space.inodes_used,
             space.inodes_available);
  }
  return absl::OkStatus();
}

absl::Status Service::Expand(const csi::v1::NodeExpandVolumeRequest& request,
                             csi::v1::NodeExpandVolumeResponse& response) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  RETURN_IF_ERROR(rpc::RequirePath(request.volume_path(), "volume_path"));
  CapacityRange range;
  if (request.has_capacity_range()) {
    const auto& given = request.capacity_range();
    ASSIGN_OR_RETURN(range, CapacityRange::Parse(given.required_bytes(), given.limit_bytes()));
  }
  RETURN_IF_ERROR(CheckExpansion(request, env_.pools));
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(request.volume_id(), "NodeExpandVolume"));
  RETURN_IF_ERROR(RequireAtPath(env_.pools, request.volume_id(), request.volume_path()));
  ASSIGN_OR_RETURN(const Bytes capacity,
                   expander_.Expand(request.volume_id(), range.required, range.limit,
                                    rpc::SecretsIn(request.secrets())));
  response.set_capacity_bytes(capacity);
  return absl::OkStatus();
}

grpc::Status Service::NodeStageVolume(grpc::ServerContext* context,
                                      const csi::v1::NodeStageVolumeRequest* request,
                                      csi::v1::NodeStageVolumeResponse*) {
  return env_.calls.Run(context, {"NodeStageVolume", request->volume_id()},
                        [&] { return Stage(*request); });
}

grpc::Status Service::NodeUnstageVolume(grpc::ServerContext* context,
                                        const csi::v1::NodeUnstageVolumeRequest* request,
                                        csi::v1::NodeUnstageVolumeResponse*) {
  return env_.calls.Run(context, {"NodeUnstageVolume", request->volume_id()},
                        [&] { return Unstage(*request); });
}

grpc::Status Service::NodePublishVolume(grpc::ServerContext* context,
                                        const csi::v1::NodePublishVolumeRequest* request,
                                        csi::v1::NodePublishVolumeResponse*) {
  return env_.calls.Run(context, {"NodePublishVolume", request->volume_id()},
                        [&] { return Publish(*request); });
}

grpc::Status Service::NodeUnpublishVolume(grpc::ServerContext* context,
                                          const csi::v1::NodeUnpublishVolumeRequest* request,
                                          csi::v1::NodeUnpublishVolumeResponse*) {
  return env_.calls.Run(context, {"NodeUnpublishVolume", request->volume_id()},
                        [&] { return Unpublish(*request); });
}

grpc::Status Service::NodeGetVolumeStats(grpc::ServerContext* context,
                                         const csi::v1::NodeGetVolumeStatsRequest* request,
                                         csi::v1::NodeGetVolumeStatsResponse* response) {
  return env_.calls.Run(context, {"NodeGetVolumeStats", request->volume_id(), LogLevel::kDebug},
                        [&] { return Stats(*request, *response); });
}

grpc::Status Service::NodeExpandVolume(grpc::ServerContext* context,
                                       const csi::v1::NodeExpandVolumeRequest* request,
                                       csi::v1::NodeExpandVolumeResponse* response) {
  return env_.calls.Run(context, {"NodeExpandVolume", request->volume_id()},
                        [&] { return Expand(*request, *response); });
}

grpc::Status Service::NodeGetCapabilities(grpc::ServerContext*,
                                          const csi::v1::NodeGetCapabilitiesRequest*,
                                          csi::v1::NodeGetCapabilitiesResponse* response) {
  return env_.calls.RunAlways({"NodeGetCapabilities", "", LogLevel::kDebug}, [&] {
    for (const auto type : kCapabilities) {
      response->add_capabilities()->mutable_rpc()->set_type(type);
    }
    return absl::OkStatus();
  });
}

grpc::Status Service::NodeGetInfo(grpc::ServerContext*, const csi::v1::NodeGetInfoRequest*,
                                  csi::v1::NodeGetInfoResponse* response) {
  return env_.calls.RunAlways({"NodeGetInfo", "", LogLevel::kDebug}, [&] {
    response->set_node_id(env_.node_id);
    response->set_max_volumes_per_node(env_.max_volumes);
    auto& topology = *response->mutable_accessible_topology();
    topology = rpc::NodeTopology(env_.driver_name, env_.node_id);
    for (const auto& [key, value] : env_.topology) (*topology.mutable_segments())[key] = value;
    return absl::OkStatus();
  });
}

}  // namespace holdfast::node
