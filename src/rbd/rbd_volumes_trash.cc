// SPDX-License-Identifier: Apache-2.0
// The trash as the volume state machine sees it.
#include <algorithm>
#include <utility>

#include "pool/volume_evidence.h"
#include "rbd/image.h"
#include "rbd/rbd_volumes.h"
#include "rbd/record_objects.h"

namespace holdfast::rbd {

absl::StatusOr<TrashedRecord*> RbdPool::Shelf::EntryOf(const pool::VolumeRecord& record) {
  const auto found = entries_.find(record.trashed->key);
  const bool known = found != entries_.end() && found->second.record == record;
  if (known) return &found->second;
  return ChangedMeanwhile(record.volume.id.uuid);
}

absl::StatusOr<pool::VolumeRecord> RbdPool::Shelf::Read(const std::string& key) {
  entries_.erase(key);
  ASSIGN_OR_RETURN(TrashedRecord entry, TrashTable::Read(ceph_, key));
  return entries_.emplace(key, std::move(entry)).first->second.record;
}

// Nodes that are gone are fenced before they are forgotten.
absl::Status RbdPool::Shelf::Put(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const RecordEntry* const entry = records_.Find(uuid);
  if (entry == nullptr || !(entry->record == record)) return ChangedMeanwhile(uuid);
  RETURN_IF_ERROR(images_.FenceHolders(*entry));
  RETURN_IF_ERROR(TrashTable::Put(ceph_, *entry));
  entries_.insert_or_assign(record.trashed->key,
                            TrashedRecord{.record = record, .text = entry->record_text});
  records_.Forget(uuid);
  return absl::OkStatus();
}

absl::Status RbdPool::Shelf::TakeBack(const pool::VolumeRecord& record,
                                      const pool::VolumeRecord& next) {
  ASSIGN_OR_RETURN(const TrashedRecord* const entry, EntryOf(record));
  RETURN_IF_ERROR(TrashTable::TakeBack(ceph_, *entry, next));
  entries_.erase(record.trashed->key);
  return absl::OkStatus();
}

absl::Status RbdPool::Shelf::Replace(const pool::VolumeRecord& present,
                                     const pool::VolumeRecord& next) {
  ASSIGN_OR_RETURN(TrashedRecord* const entry, EntryOf(present));
  return TrashTable::Replace(ceph_, *entry, next);
}

// A record that was put back by hand, or comes from a backup, may be in the trash while the volume
// is in use.
absl::Status RbdPool::Shelf::RequireNamedHereOnly(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto records, TrashTable::AllOf(ceph_, uuid));
  const bool elsewhere = std::ranges::any_of(records, [&](const auto& other) {
    return other.first != record.trashed->key && other.second.image_name == record.image_name;
  });
  if (!elsewhere) return absl::OkStatus();
  return FailedPrecondition(
      "entry {} of the trash names '{}', which another record of volume {} has too: it is left "
      "alone; if the volume is in use, remove the entry's record: rados rmomapkey {} {}",
      record.trashed->key, record.image_name, uuid, RecordObjectOf(uuid), record.trashed->key);
}

absl::Status RbdPool::Shelf::Purge(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const TrashedRecord* const entry, EntryOf(record));
  RETURN_IF_ERROR(RequireNamedHereOnly(record));
  RETURN_IF_ERROR(pool::RequireUnwanted(images_, record));
  RETURN_IF_ERROR(images_.Discard(record));
  return TrashTable::Remove(ceph_, *entry);
}

absl::Status RbdPool::Shelf::RequireWhole(const pool::VolumeRecord& record) {
  RETURN_IF_ERROR(pool::RequireSize(images_, record));
  return pool::RequireUnwanted(images_, record);
}

absl::StatusOr<Bytes> RbdPool::Shelf::Allocated(const pool::VolumeRecord& record) {
  if (record.volume.role == VolumeRole::kSnapshot) return Bytes{0};
  return DataWithoutSnapshots(ceph_, record.image_name);
}

}  // namespace holdfast::rbd
