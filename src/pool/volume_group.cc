// SPDX-License-Identifier: Apache-2.0
// Members of group snapshots (docs/adr/0030): reserve, record "allocating", cut, record "cut", and
// when every member of the group is that far, mark the copy and record "ready", the group's
// deciding member first.
//
// What a kill leaves: a record "allocating": removed, because no member is kept before all of them
// are "cut"; a record "cut": undecided, until it is known whether the deciding member is there; the
// same with a marked copy: completed, because the mark comes only after that.
#include <utility>

#include "core/log.h"
#include "pool/volume_evidence.h"
#include "pool/volume_lifecycle.h"

namespace holdfast::pool {

absl::StatusOr<VolumeLifecycle::Begun> VolumeLifecycle::BeginMember(const VolumeSpec& spec,
                                                                    const VolumeId& id) {
  RETURN_IF_ERROR(backend_.RequireCutsTogether());
  const auto existing = records_.Read(id.uuid);
  if (absl::IsNotFound(existing.status())) {
    // A deletion of this name that was cut short must not take the room of its successor.
    RETURN_IF_ERROR(Forget(NoRecordOf(id.uuid)));
    const absl::Status purged = backend_.Purge(id.uuid);
    if (!purged.ok()) LogWarning("trash of snapshot {}: {}", id.uuid, MessageOf(purged));
    return BeginNewMember(spec, id);
  }
  RETURN_IF_ERROR(existing.status());
  const VolumeState state = existing->volume.state;
  if (IsUsable(state) || state == VolumeState::kCut || IsCompleteCopy(*existing)) {
    return Aborted("snapshot '{}' of group '{}' is there already; try again", ToSnapshotId(id),
                   spec.group->id);
  }
  RETURN_IF_ERROR(RequireUnwanted(backend_, *existing));
  RETURN_IF_ERROR(FinishDeletion(*existing));
  return BeginNewMember(spec, id);
}

absl::StatusOr<VolumeLifecycle::Begun> VolumeLifecycle::BeginNewMember(const VolumeSpec& spec,
                                                                       const VolumeId& id) {
  auto begun = Begin(spec, id, 0);
  if (!absl::IsAlreadyExists(begun.status())) return begun;
  return Aborted("snapshot '{}' of group '{}' is being made by another process; try again",
                 ToSnapshotId(id), spec.group->id);
}

absl::Status VolumeLifecycle::SealMember(Begun& member) {
  VolumeRecord& record = member.record;
  const Volume& volume = record.volume;
  VolumeRecord sealed = record;
  ASSIGN_OR_RETURN(sealed.image_id, backend_.FinishCut(*member.source, record));
  space_.Set(volume.id.uuid, volume.provisioning, Promised(record).value_or(volume.capacity_bytes),
             backend_.Allocated(record).value_or(0));
  member.reservation->Commit();
  sealed.volume.state = VolumeState::kCut;
  RETURN_IF_ERROR(records_.Replace(record, sealed));
  record = std::move(sealed);
  return records_.SyncName();
}

absl::Status VolumeLifecycle::UndoMember(Begun member, const absl::Status& cause) {
  member.reservation.reset();
  const bool sealed = member.record.volume.state == VolumeState::kCut;
  if (!sealed || !records_.AreShared()) return UndoCreation(member, cause);
  const absl::Status removed = FinishDeletion(member.record);
  if (removed.ok()) return cause;
  return Unavailable("{}; and what was made could not be removed yet: {}", MessageOf(cause),
                     MessageOf(removed));
}

absl::StatusOr<bool> VolumeLifecycle::EndMember(const VolumeId& id, const std::string& group,
                                                bool keep) {
  const auto record = records_.Read(id.uuid);
  if (absl::IsNotFound(record.status())) return false;
  RETURN_IF_ERROR(record.status());
  const Volume& volume = record->volume;
  if (!volume.group || volume.group->id != group) return false;
  if (IsUsable(volume.state)) {
    // An earlier call may have been killed, or failed, before its own syncs.
    RETURN_IF_ERROR(records_.SyncAll(id.uuid));
    return true;
  }
  const bool kept = keep && volume.state == VolumeState::kCut;
  if (kept || IsCompleteCopy(*record)) {
    RETURN_IF_ERROR(FinishMarkedCopy(*record).status());
    return true;
  }
  RETURN_IF_ERROR(RequireUnwanted(backend_, *record));
  RETURN_IF_ERROR(FinishDeletion(*record));
  return false;
}

}  // namespace holdfast::pool
