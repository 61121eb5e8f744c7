// SPDX-License-Identifier: Apache-2.0
// What requests about volumes ask for, checked and free of protobuf.
#pragma once

#include <optional>

#include "controller/parameters.h"
#include "core/volume_use.h"
#include "pool/pools.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

struct CreateRequest {
  pool::Pool* pool = nullptr;
  VolumeSpec spec;
};

// INVALID_ARGUMENT naming the field for anything malformed or unsupported; OUT_OF_RANGE for a
// capacity range that cannot be satisfied. Changes nothing. `content` describes a source on another
// node, or a snapshot of a volume in another pool; a snapshot in another pool of this process is
// asked for here, with that pool's errors.
[[nodiscard]] absl::StatusOr<CreateRequest> ParseCreateRequest(
    const csi::v1::CreateVolumeRequest& request, const pool::Pools& pools,
    const std::optional<Content>& content = std::nullopt);

// The pool in which the volume is, or is to be made (pool_choice.h). INVALID_ARGUMENT.
[[nodiscard]] absl::StatusOr<pool::Pool*> PoolFor(const csi::v1::CreateVolumeRequest& request,
                                                  const ClassParameters& parameters,
                                                  const pool::Pools& pools);

// Whether the source is in this pool.
[[nodiscard]] bool IsIn(const ContentSource& source, const pool::PoolInfo& pool);

// The key of KeyLock under which a volume of this name is made, in whichever pool: no volume id has
// this form.
[[nodiscard]] std::string NameKey(const std::string& name);

// What a ControllerPublishVolumeRequest asks for. INVALID_ARGUMENT naming the field for anything
// malformed or unsupported, also an access mode that a volume cannot have whose bytes are on one
// node (`on_one_node`). Touches nothing.
[[nodiscard]] absl::StatusOr<VolumeUse> ParsePublishRequest(
    const csi::v1::ControllerPublishVolumeRequest& request, bool on_one_node);

}  // namespace holdfast::controller
