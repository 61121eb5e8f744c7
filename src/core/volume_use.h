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

// How the nodes that have a volume at the same time share it.
enum class Sharing {
  kAlone,    // there is one
  kReaders,  // none of them writes
  kWriters,  // all of them may write; what runs on them keeps them apart
};
[[nodiscard]] Sharing SharingOf(AccessMode mode);

// True for the modes that allow no writing on any node.
[[nodiscard]] bool IsReaderOnly(AccessMode mode);

// Whether volumes can be used by as many nodes as the mode says: `unsupported` when that is several
// and the bytes are on one (`on_one_node`), INVALID_ARGUMENT when several would write one
// filesystem. Names volume_capability.access_mode.
[[nodiscard]] absl::Status RequireReach(const VolumeUse& use, bool on_one_node,
                                        absl::StatusCode unsupported);

// FAILED_PRECONDITION when the volume is of the other access type, or has another filesystem.
[[nodiscard]] absl::Status RequireSuitable(const Volume& volume, const VolumeUse& use);

// True when the use allows no writing.
[[nodiscard]] bool IsReadOnly(const VolumeUse& use);

}  // namespace holdfast
