// SPDX-License-Identifier: Apache-2.0
// Creation: reserve, record "allocating", make the image, record "ready".
//
// What a kill leaves after each step, and who cleans up (Repair, or a repeated call):
//   an empty volume directory, or a record "allocating" with or without an image: removed, because
//   the CO was never told of the volume; a record "ready": the volume, found again by its name.
#include "core/log.h"
#include "os/file.h"
#include "pool/file_pool.h"
#include "pool/image_file.h"
#include "pool/volume_match.h"

namespace holdfast::pool {

absl::StatusOr<Volume> FilePool::Create(const VolumeSpec& spec) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  const std::string uuid = IdForName(spec.name).uuid;
  const auto existing = records_.Read(pool.volumes, uuid);
  if (existing.ok()) {
    const VolumeState state = existing->volume.state;
    if (state != VolumeState::kAllocating && state != VolumeState::kDeleting) {
      RETURN_IF_ERROR(RequireSame(existing->volume, spec));
      // An earlier process may have been killed before its own syncs.
      if (state == VolumeState::kReady) RETURN_IF_ERROR(SyncNames(pool, uuid));
      return WithPool(existing->volume);
    }
    RETURN_IF_ERROR(RequireUnwantedFiles(pool, *existing));
    RETURN_IF_ERROR(FinishDeletion(pool, uuid));
  } else if (!absl::IsNotFound(existing.status())) {
    return existing.status();
  } else {
    // A deletion of this name that was cut short must not take the room of its successor.
    const absl::Status emptied = EmptyTrash(pool, uuid);
    if (!emptied.ok()) LogWarning("trash of volume {}: {}", uuid, MessageOf(emptied));
  }
  ASSIGN_OR_RETURN(const Bytes capacity,
                   ChooseCapacity(spec.required_bytes, spec.limit_bytes, spec.minimum_bytes));
  return CreateNew(pool, spec, uuid, capacity);
}

absl::StatusOr<Volume> FilePool::CreateNew(const VerifiedPool& pool, const VolumeSpec& spec,
                                           const std::string& uuid, Bytes capacity) {
  ASSIGN_OR_RETURN(Ledger::Grant grant, ledger_.Reserve(uuid, spec.provisioning, capacity,
                                                        RoomMeter(pool), AllocationMeter(pool)));
  VolumeRecord record = NewRecord(spec, uuid, capacity, direct_io_.sector_size);
  if (const absl::Status filled = FillNewVolume(pool, record); !filled.ok()) {
    record.volume.state = VolumeState::kAllocating;  // the CO is not told of it
    absl::Status removed = RequireUnwantedFiles(pool, record);
    if (removed.ok()) removed = FinishDeletion(pool, uuid);
    if (removed.ok()) return filled;
    return Unavailable("{}; and what was made could not be removed yet: {}", MessageOf(filled),
                       MessageOf(removed));
  }
  ledger_.Set(uuid, spec.provisioning, capacity,
              spec.provisioning == Provisioning::kThick ? capacity : 0);
  grant.Keep();
  return WithPool(record.volume);
}

absl::Status FilePool::FillNewVolume(const VerifiedPool& pool, VolumeRecord& record) {
  RETURN_IF_ERROR(records_.Write(pool.volumes, record));
  ASSIGN_OR_RETURN(const os::UniqueFd directory,
                   os::OpenDirectoryAt(pool.volumes, record.volume.id.uuid));
  RETURN_IF_ERROR(
      MakeImage(directory.get(), record.volume.capacity_bytes, record.volume.provisioning));
  // The record's sync of the volume directory makes the image's name durable too ...
  record.volume.state = VolumeState::kReady;
  RETURN_IF_ERROR(records_.Write(pool.volumes, record));
  // ... and this one the name of the volume directory, before the CO is told.
  return os::Sync(pool.volumes, "volumes directory");
}

// Makes the names of record, image and volume directory durable.
absl::Status FilePool::SyncNames(const VerifiedPool& pool, const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool.volumes, uuid));
  RETURN_IF_ERROR(os::Sync(directory.get(), "volume directory"));
  return os::Sync(pool.volumes, "volumes directory");
}

}  // namespace holdfast::pool
