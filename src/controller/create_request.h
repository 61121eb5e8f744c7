// SPDX-License-Identifier: Apache-2.0
// What a CreateVolumeRequest asks for, checked and free of protobuf.
#pragma once

#include "pool/pools.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

struct CreateRequest {
  pool::Pool* pool = nullptr;
  VolumeSpec spec;
};

// INVALID_ARGUMENT naming the field for anything malformed or unsupported; OUT_OF_RANGE for a
// capacity range that cannot be satisfied. Touches nothing.
[[nodiscard]] absl::StatusOr<CreateRequest> ParseCreateRequest(
    const csi::v1::CreateVolumeRequest& request, const pool::Pools& pools);

// The key of KeyLock under which a volume of this name is made, in whichever pool: no volume id has
// this form.
[[nodiscard]] std::string NameKey(const std::string& name);

}  // namespace holdfast::controller
