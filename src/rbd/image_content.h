// SPDX-License-Identifier: Apache-2.0
// The bytes of images on their way from one pool to another: reading those of a snapshot, and
// writing those of a volume that waits for them.
#pragma once

#include <memory>

#include "core/content.h"
#include "pool/pool.h"
#include "pool/volume_record.h"
#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

// Reads a snapshot where it has data, or its parents have. `record` is that of the snapshot, which
// is complete. ABORTED, also from the reader, when the snapshot is gone: what is read after that
// could be anything, and is not handed on.
[[nodiscard]] absl::StatusOr<std::unique_ptr<ContentReader>> OpenSnapshotToRead(
    std::shared_ptr<CephPool> pool, const pool::VolumeRecord& record);

// Continues where the record says that the bytes have come to. It has the image open, which keeps
// other clients from writing to it. ABORTED if there is no such image.
[[nodiscard]] absl::StatusOr<std::unique_ptr<pool::ImageWriter>> OpenImageToFill(
    std::shared_ptr<CephPool> pool, const pool::VolumeRecord& record);

}  // namespace holdfast::rbd
