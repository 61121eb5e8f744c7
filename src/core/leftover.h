// SPDX-License-Identifier: Apache-2.0
// Something that a kill, an error or an administrator left unfinished. docs/adr/0014 says for each
// kind what proves that it is ours and what is done about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

enum class LeftoverKind {
  kUnreachablePool,     // none of its data can be inspected
  kUnreadableStages,    // nor can the stage records of this node
  kTrash,               // a deleted volume whose bytes are still there, although they are due
  kUnfinishedCreation,  // no CreateVolume has returned the volume
  kUnfinishedDeletion,  // a tombstone
  kUnfinishedGrowth,    // a larger size is recorded, the image does not have it yet
  kTemporaryFile,       // of a record that was never renamed into place
  kUnlistedVolume,      // appeared on disk while the process ran
  kDamagedVolume,       // a record that is invalid or older than its image
  kSharedStorage,       // a thick copy that shares blocks with its source
  kUnfinishedCopy,      // a snapshot or copy whose bytes are being copied, or cannot be
  kUndecidedSnapshot,   // a member of a group snapshot that may or may not come into being
  kMissingDigests,      // of a snapshot whose blocks were asked for
  kUnneededDigests,     // of a deleted snapshot, which nothing can be compared with any more
  kOrphanedImage,       // an image in a shared pool that no record names
  kOrphanedDevice,      // ours, and not staged
  kStaleStaging,        // a stage record of a volume that is not staged any more
  kVoidStageRecord,     // of another boot, or damaged
  kInterruptedGrowth,   // of a mounted filesystem, which may be frozen
};

struct Leftover {
  LeftoverKind kind = LeftoverKind::kUnreachablePool;
  std::string subject;  // id of a volume or of a trash entry; the pool's name for kUnreachablePool,
                        // else "node"
};

// Every kind, in the order above.
[[nodiscard]] std::vector<LeftoverKind> AllLeftoverKinds();

// "unfinished-creation"
[[nodiscard]] std::string_view ToString(LeftoverKind kind);

// What an administrator does about one that Holdfast cannot end.
[[nodiscard]] std::string_view RemedyOf(LeftoverKind kind);

}  // namespace holdfast
