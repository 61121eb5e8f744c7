// SPDX-License-Identifier: Apache-2.0
// The damage of volumes in a pool's directory, and how an administrator repairs it.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace holdfast::file {

struct VolumeDamage {
  std::string uuid;
  std::string problem;
  std::string remedy;
};

struct VolumeExamination {
  std::size_t volumes = 0;  // all that were looked at
  std::vector<VolumeDamage> damage;
};

// Compares every record with its image. Changes nothing, so that a server may work with the pool
// meanwhile. `root_fd` is the pool's directory; a pool that was never opened has
// no volumes. INTERNAL when a directory cannot be read.
[[nodiscard]] absl::StatusOr<VolumeExamination> ExamineVolumes(int root_fd);

}  // namespace holdfast::file
