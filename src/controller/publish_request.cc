// SPDX-License-Identifier: Apache-2.0
#include "controller/publish_request.h"

#include "rpc/fields.h"

namespace holdfast::controller {

absl::StatusOr<VolumeUse> ParsePublishRequest(
    const csi::v1::ControllerPublishVolumeRequest& request, bool on_one_node) {
  constexpr auto kUnsupported = absl::StatusCode::kInvalidArgument;
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  RETURN_IF_ERROR(rpc::RequireNodeId(request.node_id()));
  if (!request.has_volume_capability()) return InvalidArgument("volume_capability is missing");
  if (request.readonly()) {
    return InvalidArgument(
        "readonly is not supported: PUBLISH_READONLY is not advertised; access modes of readers "
        "are");
  }
  ASSIGN_OR_RETURN(VolumeUse use, rpc::ParseCapability(request.volume_capability(), kUnsupported));
  RETURN_IF_ERROR(RequireReach(use, on_one_node, kUnsupported));
  return use;
}

}  // namespace holdfast::controller
