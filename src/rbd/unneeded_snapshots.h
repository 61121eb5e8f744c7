// SPDX-License-Identifier: Apache-2.0
// Snapshots of images and the records that name them: which of them may be removed.
#pragma once

#include <optional>

#include "rbd/ceph_pool.h"
#include "rbd/image_header.h"
#include "rbd/image_name.h"

namespace holdfast::rbd {

// Thread-safe, as all of these. Errors as Cluster::Try.

// Whether the record of a snapshot, or of a volume that is being cloned, names it; also one in the
// trash.
[[nodiscard]] absl::StatusOr<bool> IsRecorded(const CephPool& pool, const SnapshotName& name);

// Removes the snapshot, which has or had that name, and forgets its note (rbd/retained.h). Whether
// it is gone: it stays if it has clones, or if a record names it that is not a tombstone.
// FAILED_PRECONDITION if the image is another one.
[[nodiscard]] absl::StatusOr<bool> RemoveUnneededSnapshot(const CephPool& pool,
                                                          const SnapshotName& name,
                                                          const SnapshotIds& ids);

// The name of a clone's parent. Nothing if it is gone, and also if it was removed by other programs
// while it had clones: librbd removes that one with the last of them, and the image must not be
// opened then for a while (see RemoveImageSnapshot).
[[nodiscard]] absl::StatusOr<std::optional<SnapshotName>> NameOfParent(const CephPool& pool,
                                                                       const SnapshotIds& parent);

}  // namespace holdfast::rbd
