// SPDX-License-Identifier: Apache-2.0
#include "core/volume_use.h"

#include <algorithm>

namespace holdfast {

absl::Status RequireSuitable(const Volume& volume, const VolumeUse& use) {
  if (volume.access_type != use.access_type) {
    return FailedPrecondition("volume '{}' is a {} volume and cannot be used as {}",
                              volume.id.ToString(), ToString(volume.access_type),
                              ToString(use.access_type));
  }
  if (!use.filesystem.empty() && use.filesystem != volume.filesystem) {
    return FailedPrecondition("volume '{}' has filesystem {}, not {}", volume.id.ToString(),
                              volume.filesystem, use.filesystem);
  }
  return absl::OkStatus();
}

bool IsReadOnly(const VolumeUse& use) {
  return use.access_mode == AccessMode::kSingleNodeReaderOnly ||
         std::ranges::find(use.mount_flags, "ro") != use.mount_flags.end();
}

}  // namespace holdfast
