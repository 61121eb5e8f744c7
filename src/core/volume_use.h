// SPDX-License-Identifier: Apache-2.0
// How a caller wants to use a volume (VolumeCapability, without protobuf), and whether
// the volume can be used so.
#pragma once

#include <string>
#include <vector>

#include "core/volume.h"

namespace holdfast {

struct VolumeUse {
  AccessType access_type = AccessType::kMount;
  AccessMode access_mode = AccessMode::kSingleNodeWriter;
  std::string filesystem;  // empty: whatever the volume has
  std::vector<std::string> mount_flags;
};

// FAILED_PRECONDITION when the volume is of the other access type, or has another filesystem.
[[nodiscard]] absl::Status RequireSuitable(const Volume& volume, const VolumeUse& use);

// True when the use allows no writing.
[[nodiscard]] bool IsReadOnly(const VolumeUse& use);

}  // namespace holdfast
