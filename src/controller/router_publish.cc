// SPDX-License-Identifier: Apache-2.0
// ControllerPublishVolume and ControllerUnpublishVolume of a controller with nodes.
#include <algorithm>

#include "controller/router.h"
#include "controller/volume_requests.h"
#include "rpc/fields.h"

namespace holdfast::controller {

// A node that went away not long ago may be back before the volume is staged there.
absl::Status Router::RequireNode(const std::string& node, link::Deadline deadline) {
  const std::vector<std::string> missing = env_.hub.Missing();
  if (std::ranges::find(missing, node) != missing.end()) return absl::OkStatus();
  if (env_.hub.WaitFor(node, deadline)) return absl::OkStatus();
  return NotFound("there is no node '{}': none of that name is connected", node);
}

absl::Status Router::Publish(const csi::v1::ControllerPublishVolumeRequest& request,
                             link::Deadline deadline) {
  RETURN_IF_ERROR(ParsePublishRequest(request, /*on_one_node=*/false).status());
  if (IsOwn(request.volume_id())) {
    RETURN_IF_ERROR(RequireNode(request.node_id(), deadline));
    return env_.own.Publish(request);
  }
  RETURN_IF_ERROR(ParsePublishRequest(request, /*on_one_node=*/true).status());
  csi::v1::ControllerGetVolumeRequest question;
  question.set_volume_id(request.volume_id());
  csi::v1::ControllerGetVolumeResponse found;
  RETURN_IF_ERROR(CallOwner(question, deadline, found));
  const std::string owner = VolumeId::Parse(request.volume_id())->node;
  if (request.node_id() == owner) return absl::OkStatus();
  RETURN_IF_ERROR(RequireNode(request.node_id(), deadline));
  return FailedPrecondition("volume '{}' is on node '{}' and cannot be published to '{}'",
                            request.volume_id(), owner, request.node_id());
}

grpc::Status Router::ControllerPublishVolume(grpc::ServerContext* context,
                                             const csi::v1::ControllerPublishVolumeRequest* request,
                                             csi::v1::ControllerPublishVolumeResponse* response) {
  if (!env_.attach) return env_.own.ControllerPublishVolume(context, request, response);
  return Serve(context, *request, *response,
               [&](link::Deadline deadline) { return Publish(*request, deadline); });
}

// A node's volumes are always published to it, so nothing needs to be undone.
grpc::Status Router::ControllerUnpublishVolume(
    grpc::ServerContext* context, const csi::v1::ControllerUnpublishVolumeRequest* request,
    csi::v1::ControllerUnpublishVolumeResponse* response) {
  if (!env_.attach || IsOwn(request->volume_id())) {
    return env_.own.ControllerUnpublishVolume(context, request, response);
  }
  return Serve(context, *request, *response, [&](link::Deadline) -> absl::Status {
    RETURN_IF_ERROR(rpc::RequireId(request->volume_id(), "volume_id"));
    const auto id = VolumeId::Parse(request->volume_id());
    if (!id || !id->node.empty()) return absl::OkStatus();
    return Unavailable("volume '{}' belongs to pool '{}', which is not configured here",
                       request->volume_id(), id->pool);
  });
}

}  // namespace holdfast::controller
