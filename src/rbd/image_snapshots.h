// SPDX-License-Identifier: Apache-2.0
// Snapshots of RBD images, and images cloned from them (clone format 2: a snapshot need not be
// protected first).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "rbd/ceph_pool.h"
#include "rbd/image_header.h"
#include "rbd/image_name.h"

namespace holdfast::rbd {

// Thread-safe, as all of these. Errors as Cluster::Try.

// Nothing if there is no such image.
[[nodiscard]] absl::StatusOr<std::optional<std::vector<ImageSnapshot>>> ListImageSnapshots(
    const CephPool& pool, const std::string& image);

// Nothing if there is no such image, or no such snapshot of it.
[[nodiscard]] absl::StatusOr<std::optional<ImageSnapshot>> FindImageSnapshot(
    const CephPool& pool, const SnapshotName& name);

// What is written to the image is in the snapshot if it was acknowledged before the call. A client
// that has the image open to write gives up the exclusive lock for it, after what it has under way.
// FAILED_PRECONDITION if there is no such image.
[[nodiscard]] absl::StatusOr<ImageSnapshot> CutImageSnapshot(const CephPool& pool,
                                                             const SnapshotName& name);

// Removes the snapshot with these ids from the image of that name, unless it has clones. Whether it
// is gone: false if it has clones, true if there is no such snapshot or no such image.
//
// It is never removed while it has clones: librbd would keep it then, without its name, and remove
// it with the last of them, while it is still at work on the parent when it says that the clone is
// gone (16.2): a process that opens the parent then was seen to crash and to hang.
[[nodiscard]] absl::StatusOr<bool> RemoveImageSnapshot(const CephPool& pool,
                                                       const std::string& image,
                                                       const SnapshotIds& ids);

// Whether any image is cloned from it. False if there is no such image.
[[nodiscard]] absl::StatusOr<bool> HasClones(const CephPool& pool, const std::string& image);

// Removes the image's trashed snapshots that have no clones: a kill may leave them, or another
// program. OK if there is no such image.
[[nodiscard]] absl::Status RemoveUnneededTrash(const CephPool& pool, const std::string& image);

// Makes image `name` of the snapshot's size. ALREADY_EXISTS if there is one, perhaps without some
// of its parts; FAILED_PRECONDITION if there is no such snapshot. librbd copies the image's
// metadata, too.
[[nodiscard]] absl::Status CloneImage(const CephPool& pool, const SnapshotName& parent,
                                      const std::string& name, const std::string& data_pool);

// Copies into the clone what it shares, so that it has no parent any more. Not bounded in time.
// A clone that has no parent stays as it is. `note` hears the offset that was reached.
[[nodiscard]] absl::Status FlattenImage(const CephPool& pool, const std::string& image,
                                        const std::function<void(Bytes)>& note);

}  // namespace holdfast::rbd
