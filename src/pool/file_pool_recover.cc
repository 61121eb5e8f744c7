// SPDX-License-Identifier: Apache-2.0
// The start: what must be known before the first call, and no more. Whatever is half done keeps its
// bytes and its promise until Repair ends it.
#include <algorithm>

#include "core/log.h"
#include "os/file.h"
#include "pool/file_pool.h"
#include "pool/image_file.h"

namespace holdfast::pool {

absl::Status FilePool::Recover() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const std::vector<std::string> uuids, RecordStore::Uuids(pool.volumes));
  for (const std::string& uuid : uuids) {
    // One damaged volume must not keep the others from their pods.
    const absl::Status counted = CountVolume(pool, uuid);
    if (!counted.ok()) LogError("recovery: {}", MessageOf(counted));
  }
  return absl::OkStatus();
}

absl::Status FilePool::CountVolume(const VerifiedPool& pool, const std::string& uuid) {
  const absl::StatusOr<VolumeRecord> record = RecordStore::Read(pool.volumes, uuid);
  const absl::Status believed = record.ok() ? RequireUnwantedFiles(pool, *record) : record.status();
  if (believed.ok()) return Annotate(Count(pool, *record), fmt::format("volume {}", uuid));
  CountByImage(pool, uuid);
  return believed;
}

// Unfinished creations and deletions are promised to nobody; their bytes count as used.
absl::Status FilePool::Count(const VerifiedPool& pool, const VolumeRecord& record) {
  const Volume& volume = record.volume;
  if (volume.state == VolumeState::kAllocating || volume.state == VolumeState::kDeleting) {
    return absl::OkStatus();
  }
  records_.Remember(volume);
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool.volumes, volume.id.uuid));
  const auto image = OpenImage(directory.get());
  const auto allocated = image.ok() ? ImageAllocated(image->get()) : image.status();
  // Counted even when damaged: its promise stands until somebody deletes it.
  ledger_.Set(volume.id.uuid, volume.provisioning,
              std::max(volume.capacity_bytes, record.grow_to_bytes), allocated.value_or(0));
  return allocated.status();
}

// What a damaged or too old record promised is not known, but its image has that size.
void FilePool::CountByImage(const VerifiedPool& pool, const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(pool.volumes, uuid);
  const auto image = directory.ok() ? OpenImage(directory->get()) : directory.status();
  if (!image.ok()) return;
  const auto size = ImageSize(image->get());
  const auto allocated = ImageAllocated(image->get());
  if (size.ok() && allocated.ok()) ledger_.Set(uuid, Provisioning::kThin, *size, *allocated);
}

}  // namespace holdfast::pool
