// SPDX-License-Identifier: Apache-2.0
// What a ControllerPublishVolumeRequest asks for, checked and free of protobuf.
#pragma once

#include "core/volume_use.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

// INVALID_ARGUMENT naming the field for anything malformed or unsupported, also an access mode that
// a volume cannot have whose bytes are on one node (`on_one_node`). Touches nothing.
[[nodiscard]] absl::StatusOr<VolumeUse> ParsePublishRequest(
    const csi::v1::ControllerPublishVolumeRequest& request, bool on_one_node);

}  // namespace holdfast::controller
