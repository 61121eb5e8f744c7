// SPDX-License-Identifier: Apache-2.0
// Which bytes of an image's snapshot hold data, and which were written since an earlier snapshot of
// that image, as Ceph keeps account of it. In parts, each of which takes about a second.
#pragma once

#include "pool/changed_ranges.h"
#include "pool/volume_record.h"
#include "rbd/ceph_pool.h"
#include "rbd/image_name.h"

namespace holdfast::rbd {

// Thread-safe, as all of these. Errors as Cluster::Try; ABORTED when a snapshot is gone. The
// records are those of complete snapshots.

// The objects that the snapshot or its parents have, from `offset` on.
[[nodiscard]] absl::StatusOr<pool::RangePage> FindData(const CephPool& pool,
                                                       const pool::VolumeRecord& target,
                                                       Bytes offset);

// What was written or discarded between the two, from `offset` on. FAILED_PRECONDITION if they are
// of two images; INVALID_ARGUMENT if the base is the later one.
[[nodiscard]] absl::StatusOr<pool::RangePage> FindChanges(const CephPool& pool,
                                                          const pool::VolumeRecord& base,
                                                          const pool::VolumeRecord& target,
                                                          Bytes offset);

// Whether anything was written to the image, or discarded in it, since that snapshot. As soon as a
// write is acknowledged this is true.
[[nodiscard]] absl::StatusOr<bool> IsChangedSince(const CephPool& pool, const SnapshotName& name);

}  // namespace holdfast::rbd
