// SPDX-License-Identifier: Apache-2.0
// Deletion: refuse while in use, tombstone, unmap, discard the bytes, remove the record, free.
//
// A kill after the tombstone leaves a volume that no call sees any more; a repeated DeleteVolume, a
// CreateVolume of the same name and Repair all continue where it stopped.
//
// In a pool that several processes serve, nothing is removed without a tombstone: only then is it
// certain that no other process still makes the volume, and, as the name of bytes is never used
// again, that none removes those of a later volume.
#include "core/log.h"
#include "pool/volume_evidence.h"
#include "pool/volume_lifecycle.h"

namespace holdfast::pool {

absl::Status VolumeLifecycle::Delete(const VolumeId& id, VolumeRole role) {
  auto record = records_.Read(id.uuid);
  if (record.ok() && IsUsable(record->volume.state) && record->volume.role != role) {
    return absl::OkStatus();  // no such id was ever given out
  }
  if (absl::IsNotFound(record.status())) {  // perhaps discarded by a call that failed then
    RETURN_IF_ERROR(Forget(NoRecordOf(id.uuid)));
    return FinishDeletion(NoRecordOf(id.uuid));
  }
  RETURN_IF_ERROR(record.status());
  // No call has returned it, and the group decides what becomes of it.
  if (record->volume.state == VolumeState::kCut) return absl::OkStatus();
  if (record->volume.state == VolumeState::kAllocating) {
    RETURN_IF_ERROR(RequireUnwanted(backend_, *record));
  }
  if (IsUsable(record->volume.state)) {
    RETURN_IF_ERROR(RequireNotBeingCopied(*record, id));
    const auto keep = KeepTimeOf(*record);
    if (keep.count() > 0) return MoveToTrash(*record, keep);
    RETURN_IF_ERROR(WriteTombstone(*record));
  }
  return FinishDeletion(*record);
}

absl::Status VolumeLifecycle::WriteTombstone(VolumeRecord& record) {
  // A deletion that cannot find out whether the volume is in use does not go on.
  RETURN_IF_ERROR(backend_.RequireUnused(record));
  const VolumeRecord before = record;
  record.volume.state = VolumeState::kDeleting;
  const absl::Status written = records_.Replace(before, record);
  if (written.ok() || absl::IsAborted(written) || records_.AreShared()) return written;
  // A full disk has no room for a tombstone. Discarding the bytes needs none and is one, too.
  RETURN_IF_ERROR(backend_.Unmap(record));
  LogWarning("volume {} is deleted without a tombstone: {}", record.volume.id.uuid,
             MessageOf(written));
  return absl::OkStatus();
}

// For a volume that is a tombstone, or discarded, or that CreateVolume never returned; and for one
// that is on its way into the trash, and gets there.
absl::Status VolumeLifecycle::FinishDeletion(VolumeRecord record) {
  if (record.volume.state == VolumeState::kTrashed) return FinishMove(record);
  const std::string& uuid = record.volume.id.uuid;
  const bool is_tombstone = record.volume.state == VolumeState::kDeleting;
  if (records_.AreShared() && !is_tombstone) {
    const VolumeRecord present = record;
    record.volume.state = VolumeState::kDeleting;
    RETURN_IF_ERROR(records_.Replace(present, record));
  }
  // The deletion has begun, so the answer must be one that makes the caller repeat it.
  RETURN_IF_ERROR(WithCode(backend_.Unmap(record), absl::StatusCode::kUnavailable));
  RETURN_IF_ERROR(backend_.Purge(uuid));
  RETURN_IF_ERROR(backend_.Discard(record));
  RETURN_IF_ERROR(Forget(record));
  return backend_.Purge(uuid);
}

absl::Status VolumeLifecycle::Forget(const VolumeRecord& record) {
  RETURN_IF_ERROR(records_.Remove(record));
  space_.Release(record.volume.id.uuid);
  return absl::OkStatus();
}

VolumeRecord VolumeLifecycle::NoRecordOf(const std::string& uuid) {
  VolumeRecord none;
  none.volume.id.uuid = uuid;
  none.volume.state = VolumeState::kDeleting;
  return none;
}

}  // namespace holdfast::pool
