// SPDX-License-Identifier: Apache-2.0
// A caller's intended use of a volume (VolumeCapability, without protobuf), and whether the volume
// allows it.
#pragma once

#include <string>
#include <vector>

#include "core/volume.h"

namespace holdfast {

struct VolumeUse {
  AccessType access_type = AccessType::kMount;
  AccessMode access_mode = AccessMode::kSingleNodeWriter;
  std::string filesystem;  // empty: the volume's own
  std::vector<std::string> mount_flags;
};

// How the nodes that have a volume at the same time share it.
enum class Sharing {
  kAlone,    // only one node has it
  kReaders,  // none of them writes
  kWriters,  // all of them may write; the applications on them coordinate
};
[[nodiscard]] Sharing SharingOf(AccessMode mode);

// True for the modes in which no node may write.
[[nodiscard]] bool IsReaderOnly(AccessMode mode);

// OK if volumes can be used by as many nodes as the mode allows: `unsupported` when it lets several
// write and the bytes are on one node (`on_one_node`), INVALID_ARGUMENT when several nodes would
// write to one filesystem. Readers are served wherever the bytes are: a CO knows from which nodes a
// volume is reached. Names volume_capability.access_mode.
[[nodiscard]] absl::Status RequireReach(const VolumeUse& use, bool on_one_node,
                                        absl::StatusCode unsupported);

// FAILED_PRECONDITION when the volume is of the other access type, or has another filesystem.
[[nodiscard]] absl::Status RequireSuitable(const Volume& volume, const VolumeUse& use);

// Whether the use asks for the filesystem that other programs may have put on a raw block volume,
// as data movers of backup tools do. The volume becomes a filesystem volume when it is staged so.
[[nodiscard]] bool IsToBeTakenOver(const Volume& volume, const VolumeUse& use);

// As RequireSuitable, where a volume is published to a node or staged: OK for one that is to be
// taken over, too.
[[nodiscard]] absl::Status RequireStageable(const Volume& volume, const VolumeUse& use);

// True when the use is read-only.
[[nodiscard]] bool IsReadOnly(const VolumeUse& use);

}  // namespace holdfast
