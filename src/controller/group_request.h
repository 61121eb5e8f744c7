// SPDX-License-Identifier: Apache-2.0
// What requests about group snapshots ask for, checked and free of protobuf.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/volume.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

// Volumes of one group at most: their filesystems are all frozen at the same time.
inline constexpr int kMostMembers = 64;

struct GroupRequest {
  std::string name;
  std::vector<VolumeId> sources;                  // each once
  std::map<std::string, std::string> parameters;  // of the class, without the CO's own
};

// INVALID_ARGUMENT naming the field for anything malformed or unsupported; NOT_FOUND for a volume
// id that Holdfast never made.
[[nodiscard]] absl::StatusOr<GroupRequest> ParseGroupRequest(
    const csi::v1::CreateVolumeGroupSnapshotRequest& request);

// How a group with these parameters is cut. INVALID_ARGUMENT naming the parameter.
[[nodiscard]] absl::StatusOr<CutOptions> ParseGroupParameters(
    const std::map<std::string, std::string>& parameters);

}  // namespace holdfast::controller
