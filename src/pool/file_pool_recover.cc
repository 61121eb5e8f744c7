// SPDX-License-Identifier: Apache-2.0
// The start: finish deletions, remove creations that the CO was never told of, end growths, count.
// Interrupted formatting is left to the next stage, which alone knows filesystems.
#include "core/log.h"
#include "os/file.h"
#include "pool/file_pool.h"
#include "pool/image_file.h"

namespace holdfast::pool {

absl::Status FilePool::Recover() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const std::vector<std::string> trash, RecordStore::Uuids(pool.trash));
  for (const std::string& uuid : trash) {
    const absl::Status emptied = EmptyTrash(pool, uuid);
    if (!emptied.ok()) LogWarning("trash of volume {}: {}", uuid, MessageOf(emptied));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> uuids, RecordStore::Uuids(pool.volumes));
  for (const std::string& uuid : uuids) {
    // One damaged volume must not keep the others from their pods.
    const absl::Status recovered = RecoverVolume(pool, uuid);
    if (!recovered.ok()) LogError("recovery: {}", MessageOf(recovered));
  }
  const std::lock_guard lock(mutex_);
  counted_at_ = std::chrono::steady_clock::now();
  return absl::OkStatus();
}

absl::Status FilePool::RecoverVolume(const VerifiedPool& pool, const std::string& uuid) {
  absl::StatusOr<VolumeRecord> record = records_.Read(pool.volumes, uuid);
  if (record.ok()) {
    records_.Remember(record->volume);
    return Annotate(FinishWhatBegan(pool, *record), fmt::format("volume {}", uuid));
  }
  CountByImage(pool, uuid);
  return record.status();
}

// What a damaged record promised is not known, but its image has that size.
void FilePool::CountByImage(const VerifiedPool& pool, const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(pool.volumes, uuid);
  const auto image = directory.ok() ? OpenImage(directory->get()) : directory.status();
  if (!image.ok()) return;
  const auto size = ImageSize(image->get());
  const auto allocated = ImageAllocated(image->get());
  if (size.ok() && allocated.ok()) ledger_.Set(uuid, Provisioning::kThin, *size, *allocated);
}

absl::Status FilePool::FinishWhatBegan(const VerifiedPool& pool, VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  switch (record.volume.state) {
    case VolumeState::kAllocating:
      LogInfo("removing the unfinished creation of volume {}", uuid);
      return FinishDeletion(pool, uuid);
    case VolumeState::kDeleting:
      LogInfo("finishing the deletion of volume {}", uuid);
      return FinishDeletion(pool, uuid);
    case VolumeState::kReady:
    case VolumeState::kFormatting:
    case VolumeState::kFormatted:
      break;
  }
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool.volumes, uuid));
  absl::Status grown;
  if (record.grow_to_bytes != 0) grown = FinishGrowth(pool, record);
  const auto image = OpenImage(directory.get());
  const auto allocated = image.ok() ? ImageAllocated(image->get()) : image.status();
  // Counted even when damaged: its promise stands until somebody deletes it.
  ledger_.Set(uuid, record.volume.provisioning, record.volume.capacity_bytes,
              allocated.value_or(0));
  RETURN_IF_ERROR(grown);
  return allocated.status();
}

}  // namespace holdfast::pool
