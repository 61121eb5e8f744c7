// SPDX-License-Identifier: Apache-2.0
// ControllerPublishVolume and ControllerUnpublishVolume, for clusters that attach.
#include "controller/service.h"
#include "controller/volume_requests.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

grpc::Status NotAttaching() {
  return grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                      "ControllerPublishVolume is served only with --attach");
}

}  // namespace

absl::Status Service::Publish(const csi::v1::ControllerPublishVolumeRequest& request) {
  RETURN_IF_ERROR(ParsePublishRequest(request, /*on_one_node=*/false).status());
  ASSIGN_OR_RETURN(const auto located,
                   LocateAs(request.volume_id(), request.secrets(), pool::Credentials::kRequired));
  ASSIGN_OR_RETURN(const VolumeUse use,
                   ParsePublishRequest(request, !located.pool->info().node.empty()));
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(request.volume_id(), "ControllerPublishVolume"));
  ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
  RETURN_IF_ERROR(RequireStageable(volume, use));
  return located.pool->PublishTo(located.id, request.node_id(), use.access_mode);
}

absl::Status Service::Unpublish(const csi::v1::ControllerUnpublishVolumeRequest& request) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  // If the class names no secrets for this call, the most recent credentials are used.
  const auto located =
      LocateAs(request.volume_id(), request.secrets(), pool::Credentials::kOptional);
  if (absl::IsNotFound(located.status())) return absl::OkStatus();
  RETURN_IF_ERROR(located.status());
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(request.volume_id(), "ControllerUnpublishVolume"));
  return located->pool->UnpublishFrom(located->id, request.node_id());
}

grpc::Status Service::ControllerPublishVolume(
    grpc::ServerContext* context, const csi::v1::ControllerPublishVolumeRequest* request,
    csi::v1::ControllerPublishVolumeResponse*) {
  if (!env_.attach) return NotAttaching();
  return env_.calls.Run(
      context, {"ControllerPublishVolume", request->volume_id()}, [&]() -> absl::Status {
        RETURN_IF_ERROR(ParsePublishRequest(*request, /*on_one_node=*/false).status());
        if (request->node_id() == env_.node_id) return Publish(*request);
        return NotFound("there is no node '{}': this process serves node '{}' alone",
                        request->node_id(), env_.node_id);
      });
}

grpc::Status Service::ControllerUnpublishVolume(
    grpc::ServerContext* context, const csi::v1::ControllerUnpublishVolumeRequest* request,
    csi::v1::ControllerUnpublishVolumeResponse*) {
  if (!env_.attach) return NotAttaching();
  return env_.calls.Run(context, {"ControllerUnpublishVolume", request->volume_id()},
                        [&] { return Unpublish(*request); });
}

}  // namespace holdfast::controller
