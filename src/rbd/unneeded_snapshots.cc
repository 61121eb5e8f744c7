// SPDX-License-Identifier: Apache-2.0
#include "rbd/unneeded_snapshots.h"

#include <algorithm>
#include <map>
#include <string>

#include "rbd/image.h"
#include "rbd/image_snapshots.h"
#include "rbd/retained.h"
#include "rbd/trash_table.h"

namespace holdfast::rbd {
namespace {

// The records, also in the trash, that a snapshot's name says it may be of. They may name other
// bytes.
absl::StatusOr<std::map<std::string, pool::VolumeRecord>> RecordsOf(const CephPool& ceph,
                                                                    const SnapshotName& name) {
  const auto uuid = UuidOfImage(name.snapshot);
  if (!uuid) return std::map<std::string, pool::VolumeRecord>();
  return TrashTable::AllOf(ceph, *uuid);
}

// Whether it is the snapshot of a record that is not a tombstone.
absl::StatusOr<bool> IsWanted(const CephPool& ceph, const SnapshotName& name) {
  ASSIGN_OR_RETURN(const auto records, RecordsOf(ceph, name));
  return std::ranges::any_of(records, [&](const auto& found) {
    const pool::VolumeRecord& record = found.second;
    return record.image_name == name.ToString() && record.volume.state != VolumeState::kDeleting;
  });
}

}  // namespace

absl::StatusOr<bool> IsRecorded(const CephPool& ceph, const SnapshotName& name) {
  ASSIGN_OR_RETURN(const auto records, RecordsOf(ceph, name));
  return std::ranges::any_of(records, [&](const auto& found) {
    const std::string& bytes = found.second.image_name;
    return bytes == name.ToString() || bytes == name.snapshot;
  });
}

absl::StatusOr<bool> RemoveUnneededSnapshot(const CephPool& ceph, const SnapshotName& name,
                                            const SnapshotIds& ids) {
  ASSIGN_OR_RETURN(const auto image_id, ReadImageId(ceph, name.image));
  if (image_id) {
    if (*image_id != ids.image) return ImageWasReplaced(name.image, *image_id, ids.image);
    ASSIGN_OR_RETURN(const bool wanted, IsWanted(ceph, name));
    if (wanted) return false;
    ASSIGN_OR_RETURN(const bool gone, RemoveImageSnapshot(ceph, name.image, ids));
    if (!gone) return false;
  }
  RETURN_IF_ERROR(ForgetRetained(ceph, name.ToString()));
  return true;
}

absl::StatusOr<std::optional<SnapshotName>> NameOfParent(const CephPool& ceph,
                                                         const SnapshotIds& parent) {
  ASSIGN_OR_RETURN(const auto found, ReadHeaderSnapshot(ceph, parent));
  if (!found || found->snapshot.kind != ImageSnapshot::Kind::kNamed) return std::nullopt;
  ASSIGN_OR_RETURN(const auto image, ReadImageName(ceph, parent.image));
  if (!image) return std::nullopt;
  return SnapshotName{.image = *image, .snapshot = found->snapshot.name};
}

}  // namespace holdfast::rbd
