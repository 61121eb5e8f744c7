// SPDX-License-Identifier: Apache-2.0
#include "rbd/unneeded_snapshots.h"

#include <string>
#include <utility>

#include "rbd/image.h"
#include "rbd/image_snapshots.h"
#include "rbd/record_table.h"
#include "rbd/retained.h"

namespace holdfast::rbd {
namespace {

// The record that a snapshot's name says it is of; nothing if there is none. It may name other
// bytes.
absl::StatusOr<std::optional<pool::VolumeRecord>> RecordOf(const CephPool& ceph,
                                                           const SnapshotName& name) {
  const auto uuid = UuidOfImage(name.snapshot);
  if (!uuid) return std::nullopt;
  auto entry = RecordTable::Read(ceph, *uuid);
  if (absl::IsNotFound(entry.status())) return std::nullopt;
  RETURN_IF_ERROR(entry.status());
  return std::move(entry->record);
}

// Whether it is the snapshot of a record that is not a tombstone.
absl::StatusOr<bool> IsWanted(const CephPool& ceph, const SnapshotName& name) {
  ASSIGN_OR_RETURN(const auto record, RecordOf(ceph, name));
  return record && record->image_name == name.ToString() &&
         record->volume.state != VolumeState::kDeleting;
}

}  // namespace

absl::StatusOr<bool> IsRecorded(const CephPool& ceph, const SnapshotName& name) {
  ASSIGN_OR_RETURN(const auto record, RecordOf(ceph, name));
  return record && (record->image_name == name.ToString() || record->image_name == name.snapshot);
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
