// SPDX-License-Identifier: Apache-2.0
// Creation: reserve, record "allocating", make the bytes, record "ready".
//
// What a kill leaves after each step, and who cleans up (Repair, or a repeated call): a record
// "allocating", with or without bytes: removed, because CreateVolume never returned it; a
// record "ready": the volume, found again by its name.
#include "core/log.h"
#include "pool/volume_evidence.h"
#include "pool/volume_lifecycle.h"
#include "pool/volume_match.h"

namespace holdfast::pool {

absl::StatusOr<VolumeRecord> VolumeLifecycle::Create(const VolumeSpec& spec, const VolumeId& id,
                                                     std::uint32_t sector_size) {
  const auto existing = records_.Read(id.uuid);
  if (existing.ok() && IsUsable(existing->volume.state)) return UseExisting(*existing, spec);
  if (existing.ok()) {
    RETURN_IF_ERROR(RequireUnwanted(backend_, *existing));
    RETURN_IF_ERROR(FinishDeletion(*existing));
  } else if (!absl::IsNotFound(existing.status())) {
    return existing.status();
  } else {
    // A deletion of this name that was cut short must not take the room of its successor.
    RETURN_IF_ERROR(Forget(id.uuid));
    const absl::Status purged = backend_.Purge(id.uuid);
    if (!purged.ok()) LogWarning("trash of volume {}: {}", id.uuid, MessageOf(purged));
  }
  ASSIGN_OR_RETURN(const Bytes capacity,
                   ChooseCapacity(spec.required_bytes, spec.limit_bytes, spec.minimum_bytes));
  return CreateNew(spec, id, capacity, sector_size);
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::UseExisting(const VolumeRecord& record,
                                                          const VolumeSpec& spec) {
  RETURN_IF_ERROR(RequireSame(record.volume, spec));
  // An earlier call may have been killed, or failed, before its own syncs.
  const std::string& uuid = record.volume.id.uuid;
  RETURN_IF_ERROR(records_.SyncAll(uuid));
  // An earlier call may have made it and failed afterwards, having released its reservation.
  if (!IsAccounted(record)) RETURN_IF_ERROR(Account(record));
  return record;
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::CreateNew(const VolumeSpec& spec, const VolumeId& id,
                                                        Bytes capacity, std::uint32_t sector_size) {
  ASSIGN_OR_RETURN(std::unique_ptr<Reservation> reservation,
                   space_.Reserve(id.uuid, spec.provisioning, capacity));
  VolumeRecord record = NewRecord(spec, id.uuid, capacity, sector_size);
  if (const absl::Status filled = Fill(record); !filled.ok()) {
    reservation.reset();
    return UndoCreation(record, filled);
  }
  space_.Set(id.uuid, spec.provisioning, capacity,
             spec.provisioning == Provisioning::kThick ? capacity : 0);
  reservation->Commit();
  return record;
}

absl::Status VolumeLifecycle::Fill(VolumeRecord& record) {
  RETURN_IF_ERROR(records_.Insert(record));
  RETURN_IF_ERROR(MakeBytes(record));
  const VolumeRecord allocating = record;
  record.volume.state = VolumeState::kReady;
  RETURN_IF_ERROR(records_.Replace(allocating, record));
  return records_.SyncName();  // before the CO gets its answer
}

absl::Status VolumeLifecycle::MakeBytes(const VolumeRecord& record) {
  const absl::Status made = backend_.Make(record);
  if (!absl::IsAlreadyExists(made)) return made;
  RETURN_IF_ERROR(RequireUnwanted(backend_, record));
  RETURN_IF_ERROR(backend_.RemoveUnfinished(record));
  return backend_.Make(record);
}

absl::Status VolumeLifecycle::UndoCreation(VolumeRecord record, const absl::Status& cause) {
  record.volume.state = VolumeState::kAllocating;  // CreateVolume fails, so the CO does not know it
  absl::Status removed = RequireUnwanted(backend_, record);
  if (removed.ok()) removed = FinishDeletion(record);
  if (removed.ok()) return cause;
  AccountStored(record.volume.id.uuid);
  return Unavailable("{}; and what was made could not be removed yet: {}", MessageOf(cause),
                     MessageOf(removed));
}

}  // namespace holdfast::pool
