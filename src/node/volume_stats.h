// SPDX-License-Identifier: Apache-2.0
// NodeGetVolumeStats without protobuf.
#pragma once

#include <string>

#include "os/host_filesystem.h"
#include "pool/pools.h"

namespace holdfast::node {

struct VolumeStats {
  AccessType access_type = AccessType::kMount;
  Bytes capacity = 0;              // block volumes: the size of the device
  os::FilesystemSpace filesystem;  // filesystem volumes
  VolumeCondition condition;
};

// Figures of the volume as seen at `path`: any path where it is staged or published, by us or by
// the kubelet's own binds. NOT_FOUND when there is no such volume or it is not at that path;
// INVALID_ARGUMENT and FAILED_PRECONDITION as os::TargetPath for a path that leads elsewhere.
[[nodiscard]] absl::StatusOr<VolumeStats> MeasureVolume(const pool::Pools& pools,
                                                        const std::string& volume_id,
                                                        const std::string& path);

}  // namespace holdfast::node
