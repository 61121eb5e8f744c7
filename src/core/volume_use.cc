// SPDX-License-Identifier: Apache-2.0
#include "core/volume_use.h"

#include <algorithm>

namespace holdfast {

Sharing SharingOf(AccessMode mode) {
  switch (mode) {
    case AccessMode::kMultiNodeReaderOnly:
      return Sharing::kReaders;
    case AccessMode::kMultiNodeSingleWriter:
    case AccessMode::kMultiNodeMultiWriter:
      return Sharing::kWriters;
    default:
      return Sharing::kAlone;
  }
}

bool IsReaderOnly(AccessMode mode) {
  return mode == AccessMode::kSingleNodeReaderOnly || mode == AccessMode::kMultiNodeReaderOnly;
}

absl::Status RequireReach(const VolumeUse& use, bool on_one_node, absl::StatusCode unsupported) {
  const Sharing sharing = SharingOf(use.access_mode);
  if (sharing == Sharing::kAlone) return absl::OkStatus();
  if (on_one_node && sharing == Sharing::kWriters) {
    return MakeStatus(unsupported, fmt::format("volume_capability.access_mode {} needs more than "
                                               "one node; the volumes of this pool live on one",
                                               ToString(use.access_mode)));
  }
  if (sharing == Sharing::kReaders || use.access_type == AccessType::kBlock) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "volume_capability.access_mode {} of a filesystem: ext, xfs and btrfs are written by one "
      "node "
      "at a time, several would destroy each other's data; use raw block, or "
      "MULTI_NODE_READER_ONLY",
      ToString(use.access_mode));
}

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

bool IsToBeTakenOver(const Volume& volume, const VolumeUse& use) {
  return volume.access_type == AccessType::kBlock && volume.state == VolumeState::kReady &&
         use.access_type == AccessType::kMount;
}

absl::Status RequireStageable(const Volume& volume, const VolumeUse& use) {
  return IsToBeTakenOver(volume, use) ? absl::OkStatus() : RequireSuitable(volume, use);
}

bool IsReadOnly(const VolumeUse& use) {
  return IsReaderOnly(use.access_mode) ||
         std::ranges::find(use.mount_flags, "ro") != use.mount_flags.end();
}

}  // namespace holdfast
