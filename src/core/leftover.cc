// SPDX-License-Identifier: Apache-2.0
#include "core/leftover.h"

namespace holdfast {
namespace {

constexpr std::string_view kUnknown = "unknown";

struct Words {
  std::string_view name;
  std::string_view remedy;
};

Words DescriptionOf(LeftoverKind kind) {
  switch (kind) {
    case LeftoverKind::kUnreachablePool:
      return {"unreachable-pool",
              "mount the pool's disk again, or restore the connection to its cluster"};
    case LeftoverKind::kUnreadableStages:
      return {"unreadable-stages", "make the state directory and /proc/self/mountinfo readable"};
    case LeftoverKind::kTrash:
      return {"trash", "move what is not Holdfast's out of the volume's directory in the trash"};
    case LeftoverKind::kUnfinishedCreation:
      return {"unfinished-creation",
              "follow the remedy in the problem's message; no claim ever had this volume"};
    case LeftoverKind::kUnfinishedDeletion:
      return {"unfinished-deletion",
              "end the programs that still use the volume; its claim is deleted"};
    case LeftoverKind::kUnfinishedGrowth:
      return {"unfinished-growth",
              "make room in the pool, or follow the remedy in the problem's message"};
    case LeftoverKind::kTemporaryFile:
      return {"temporary-file",
              "follow the remedy in the problem's message; the file itself is not needed"};
    case LeftoverKind::kUnlistedVolume:
      return {"unlisted-volume", "follow the remedy in the problem's message"};
    case LeftoverKind::kDamagedVolume:
      return {"damaged-volume", "restore the volume's record or image from a backup"};
    case LeftoverKind::kSharedStorage:
      return {"shared-storage",
              "follow the remedy in the problem's message; room for it is reserved"};
    case LeftoverKind::kUnfinishedCopy:
      return {
          "unfinished-copy",
          "follow the remedy in the problem's message, or delete the snapshot or the claim that "
          "the copy is for"};
    case LeftoverKind::kUndecidedSnapshot:
      return {"undecided-snapshot",
              "bring the node back that the problem names: its snapshot of the group decides"};
    case LeftoverKind::kMissingDigests:
      return {"missing-digests", "follow the remedy in the problem's message"};
    case LeftoverKind::kUnneededDigests:
      return {"unneeded-digests", "follow the remedy in the problem's message"};
    case LeftoverKind::kOrphanedImage:
      return {"orphaned-image",
              "examine the image that the problem names, and remove it if it is not needed"};
    case LeftoverKind::kOrphanedDevice:
      return {"orphaned-device",
              "end what uses the device; if that is not needed, detach it as the problem says"};
    case LeftoverKind::kStaleStaging:
      return {"stale-staging", "end the programs that use the device, or unmount the volume"};
    case LeftoverKind::kVoidStageRecord:
      return {"void-stage-record",
              "end the pods that use the volume; unstaging removes the record"};
    case LeftoverKind::kInterruptedGrowth:
      return {"interrupted-growth", "restart the volume's pod: its filesystem grows when staged"};
  }
  return {kUnknown, ""};
}

}  // namespace

std::vector<LeftoverKind> AllLeftoverKinds() {
  std::vector<LeftoverKind> kinds;
  for (int value = 0; ToString(static_cast<LeftoverKind>(value)) != kUnknown; ++value) {
    kinds.push_back(static_cast<LeftoverKind>(value));
  }
  return kinds;
}

std::string_view ToString(LeftoverKind kind) { return DescriptionOf(kind).name; }
std::string_view RemedyOf(LeftoverKind kind) { return DescriptionOf(kind).remedy; }

}  // namespace holdfast
