// SPDX-License-Identifier: Apache-2.0
// What a CreateSnapshotRequest asks for, and where a CreateVolumeRequest takes its content from,
// checked and free of protobuf.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/volume.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

// The spec of the snapshot, without its source. INVALID_ARGUMENT naming the field for anything
// malformed or unsupported.
[[nodiscard]] absl::StatusOr<VolumeSpec> ParseSnapshotRequest(
    const csi::v1::CreateSnapshotRequest& request);

// The class parameter maxFreeze. INVALID_ARGUMENT if it is not a duration from 100 ms to 10 s.
[[nodiscard]] absl::StatusOr<std::chrono::milliseconds> ParseMaxFreeze(const std::string& value);

// Nothing if the request names no source. INVALID_ARGUMENT if it names it badly, NOT_FOUND if
// Holdfast never made such an id.
[[nodiscard]] absl::StatusOr<std::optional<ContentSource>> ParseContentSource(
    const csi::v1::CreateVolumeRequest& request);

// The key of KeyLock under which a snapshot of this name is made: no id is like it.
[[nodiscard]] std::string SnapshotNameKey(const std::string& name);

}  // namespace holdfast::controller
