// SPDX-License-Identifier: Apache-2.0
// NodeGetVolumeStats without protobuf.
#pragma once

#include <optional>
#include <string>

#include "os/host_filesystem.h"
#include "pool/pools.h"

namespace holdfast::node {

struct VolumeStats {
  AccessType access_type = AccessType::kMount;
  Bytes capacity = 0;  // size of the device
  // Of filesystem volumes; nothing if the filesystem has failed and does not say even this.
  std::optional<os::FilesystemSpace> filesystem{};
  VolumeCondition condition;
};

// Figures of the volume as seen at `path`: any path where it is staged or published, by us or by
// the kubelet's own binds. NOT_FOUND when there is no such volume or it is not at that path;
// INVALID_ARGUMENT and FAILED_PRECONDITION as os::RequestPath for a path that leads elsewhere.
[[nodiscard]] absl::StatusOr<VolumeStats> MeasureVolume(const pool::Pools& pools,
                                                        const std::string& volume_id,
                                                        const std::string& path);

// NOT_FOUND if the volume is attached here but is not what is at `path`: its filesystem, or the
// node of its device. OK for one that is not attached. Symbolic links are followed: kubelet may
// give the one that a pod has of its device. The caller holds the volume's lock.
[[nodiscard]] absl::Status RequireAtPath(const pool::Pools& pools, const std::string& volume_id,
                                         const std::string& path);

}  // namespace holdfast::node
