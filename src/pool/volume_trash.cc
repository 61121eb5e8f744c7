// SPDX-License-Identifier: Apache-2.0
// The trash: a deleted volume or snapshot is kept with its space for a while, and can be restored
// (docs/adr/0034).
//
// Deletion: record "trashed", unmap, move record and bytes to the shelf. Restoring: move them back,
// record the state of before. Purging: record "deleting" on the shelf, free the bytes, remove the
// record.
//
// What a kill leaves after each step: a record "trashed" in its old place, on the way there or
// back: no call finds the volume, and a repeated DeleteVolume, a CreateVolume of the same name and
// Repair all move it to the shelf; a record "deleting" on the shelf, with or without bytes: Tend
// ends it, and it is not restored any more.
#include <algorithm>

#include "core/clock.h"
#include "core/log.h"
#include "core/trash_id.h"
#include "core/volume_id.h"
#include "pool/volume_evidence.h"
#include "pool/volume_lifecycle.h"

namespace holdfast::pool {
namespace {

// Deletions under one name that seem to happen in one second.
constexpr int kMostInOneSecond = 60;

absl::Status NoEntry(const std::string& key) {
  return NotFound("there is no entry {} in the trash", key);
}

absl::Status IsBeingPurged(const std::string& key) {
  return NotFound("entry {} of the trash is being purged, and cannot be restored", key);
}

}  // namespace

// What no caller was given complete, and what no CO knows, is not kept.
std::chrono::seconds VolumeLifecycle::KeepTimeOf(const VolumeRecord& record) const {
  const Volume& volume = record.volume;
  const bool complete = volume.state != VolumeState::kCopying && !record.copy;
  if (!keeping_ || volume.held() || !complete) return std::chrono::seconds(0);
  return volume.keep_deleted.value_or(keeping_->trash.policy().keep);
}

absl::StatusOr<std::string> VolumeLifecycle::FreeKeyFor(const std::string& uuid) {
  for (int second = 0; second < kMostInOneSecond; ++second) {
    std::string key = TrashKey(uuid, now_() + absl::Seconds(second));
    const absl::Status there = keeping_->shelf.Read(key).status();
    if (absl::IsNotFound(there)) return key;
  }
  return Unavailable("volume {} was deleted many times at one time of the clock; try again", uuid);
}

absl::Status VolumeLifecycle::MoveToTrash(const VolumeRecord& record, std::chrono::seconds keep) {
  // A deletion that cannot find out whether the volume is in use does not go on.
  RETURN_IF_ERROR(backend_.RequireUnused(record));
  VolumeRecord trashed = record;
  trashed.volume.state = VolumeState::kTrashed;
  trashed.trashed =
      Trashed{.deleted_at = Rfc3339(now_()), .keep = keep, .before = record.volume.state};
  if (records_.AreShared()) trashed.trashed->deletion = RandomUuid();
  ASSIGN_OR_RETURN(trashed.trashed->key, FreeKeyFor(record.volume.id.uuid));
  const absl::Status written = records_.Replace(record, trashed);
  if (written.ok()) return FinishMove(trashed);
  if (absl::IsAborted(written) || records_.AreShared()) return written;
  // A full disk has no room for the new record. The move needs none, and says enough.
  LogWarning("volume {} is moved to the trash without a note in its record: {}",
             record.volume.id.uuid, MessageOf(written));
  return FinishMove(trashed);
}

absl::Status VolumeLifecycle::FinishMove(const VolumeRecord& record) {
  if (!keeping_) return Internal("volume {}: this pool has no trash", record.volume.id.uuid);
  // The deletion has begun, so the answer must be one that makes the caller repeat it.
  RETURN_IF_ERROR(WithCode(backend_.Unmap(record), absl::StatusCode::kUnavailable));
  RETURN_IF_ERROR(keeping_->shelf.Put(record));
  space_.Rename(record.volume.id.uuid, record.trashed->key);
  return AccountEntry(record);
}

// The space of an entry stays promised, so that it can be restored in any case.
absl::Status VolumeLifecycle::AccountEntry(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  const auto allocated = keeping_->shelf.Allocated(record);
  absl::StatusOr<Bytes> promised = std::max(volume.capacity_bytes, record.grow_to_bytes);
  if (volume.role == VolumeRole::kSnapshot) promised = keeping_->shelf.Occupied(record);
  space_.Set(record.trashed->key, volume.provisioning, promised.value_or(volume.capacity_bytes),
             allocated.value_or(0));
  keeping_->trash.Set(record, allocated.value_or(0));
  return Annotate(allocated.status(), fmt::format("entry {} of the trash", record.trashed->key));
}

absl::Status VolumeLifecycle::CountEntry(const std::string& key) {
  const absl::StatusOr<VolumeRecord> record = keeping_->shelf.Read(key);
  RETURN_IF_ERROR(Annotate(record.status(), fmt::format("entry {} of the trash", key)));
  // One that is being purged has no place in lists; its bytes count as used.
  if (record->volume.state == VolumeState::kDeleting) return absl::OkStatus();
  return AccountEntry(*record);
}

absl::Status VolumeLifecycle::RequireFreePlace(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  const auto there = records_.Read(volume.id.uuid);
  if (absl::IsNotFound(there.status())) return absl::OkStatus();
  RETURN_IF_ERROR(there.status());
  if (IsUsable(there->volume.state)) {
    return AlreadyExists(
        "a {} named '{}' was made since, and has the id of the one in the trash; delete it first",
        ToString(volume.role), volume.name);
  }
  return Unavailable("what is left of a {} named '{}' is being removed; try again",
                     ToString(volume.role), volume.name);
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::Restore(const std::string& key) {
  if (!keeping_) return NoEntry(key);
  auto& [shelf, trash] = *keeping_;
  ASSIGN_OR_RETURN(const Trash::Claim claim, trash.TryClaim(key));
  ASSIGN_OR_RETURN(const VolumeRecord record, ReadEntry(key));
  if (record.volume.state != VolumeState::kTrashed) return IsBeingPurged(key);
  RETURN_IF_ERROR(RequireFreePlace(record));
  RETURN_IF_ERROR(shelf.RequireWhole(record));
  VolumeRecord next = record;
  next.volume.state = record.trashed->before;
  next.trashed.reset();
  next.volume.group.reset();  // its group has been deleted, and does not come back
  RETURN_IF_ERROR(TakeBack(record, next));
  trash.Remove(key);
  RETURN_IF_ERROR(Account(next));
  RETURN_IF_ERROR(records_.SyncName());
  LogInfo("{} {} is restored from the trash", ToString(next.volume.role), next.volume.id.uuid);
  return next;
}

// Shared records are never half-way: after an error it is still in the trash, or complete.
absl::Status VolumeLifecycle::TakeBack(const VolumeRecord& record, const VolumeRecord& next) {
  const absl::Status taken = keeping_->shelf.TakeBack(record, next);
  if (records_.AreShared()) return taken;
  if (!taken.ok()) return BackInTrash(record, taken);
  space_.Rename(record.trashed->key, record.volume.id.uuid);
  const absl::Status written = records_.Replace(record, next);
  return written.ok() ? written : BackInTrash(record, written);
}

// A restoration has failed because of the `cause`.
absl::Status VolumeLifecycle::BackInTrash(const VolumeRecord& record, const absl::Status& cause) {
  const absl::Status undone = FinishMove(record);
  if (undone.ok()) return cause;
  return Unavailable("{}; and it is not back in the trash yet: {}", MessageOf(cause),
                     MessageOf(undone));
}

// The caller has the claim.
absl::StatusOr<VolumeRecord> VolumeLifecycle::ReadEntry(const std::string& key) {
  auto record = keeping_->shelf.Read(key);
  if (!absl::IsNotFound(record.status())) return record;
  keeping_->trash.Remove(key);  // it was removed by hand
  space_.Release(key);
  return NoEntry(key);
}

absl::Status VolumeLifecycle::PurgeEntry(const std::string& key) {
  if (!keeping_) return NoEntry(key);
  ASSIGN_OR_RETURN(const Trash::Claim claim, keeping_->trash.TryClaim(key));
  ASSIGN_OR_RETURN(const VolumeRecord record, ReadEntry(key));
  return Purge(record);
}

// The caller has the claim.
absl::Status VolumeLifecycle::Purge(const VolumeRecord& record) {
  const std::string& key = record.trashed->key;
  VolumeRecord tombstone = record;
  tombstone.volume.state = VolumeState::kDeleting;
  if (record.volume.state != VolumeState::kDeleting) {
    // On a full disk there may be no room for it. Then a kill leaves an entry without its image,
    // which is not restored either.
    const absl::Status written = keeping_->shelf.Replace(record, tombstone);
    // Another process may be restoring it.
    if (!written.ok() && records_.AreShared()) return written;
    if (!written.ok()) LogWarning("entry {} of the trash: {}", key, MessageOf(written));
  }
  RETURN_IF_ERROR(keeping_->shelf.Purge(tombstone));
  keeping_->trash.Remove(key);
  space_.Release(key);
  LogInfo("{} '{}', which was deleted at {}, is purged from the trash",
          ToString(record.volume.role), record.volume.name, record.trashed->deleted_at);
  return absl::OkStatus();
}

absl::StatusOr<bool> VolumeLifecycle::Tend(const std::string& key) {
  if (!keeping_) return false;
  auto& [shelf, trash] = *keeping_;
  const auto claim = trash.TryClaim(key);
  if (!claim.ok()) return false;  // a call is at work on it
  const auto stored = ReadEntry(key);
  if (absl::IsNotFound(stored.status())) return false;
  RETURN_IF_ERROR(stored.status());
  trash.Refresh(*stored);
  const auto entry = trash.Find(key);
  const bool due = entry && Trash::IsDue(*entry);
  if (stored->volume.state == VolumeState::kDeleting || due) {
    RETURN_IF_ERROR(Purge(*stored));
    return true;
  }
  if (!entry) {  // it has appeared while this process ran
    RETURN_IF_ERROR(AccountEntry(*stored));
    return false;
  }
  if (!Trash::IsNoteDue(*entry)) return false;
  VolumeRecord noted = *stored;
  noted.trashed->kept = entry->kept;
  RETURN_IF_ERROR(shelf.Replace(*stored, noted));
  trash.Set(noted, entry->allocated);
  return false;
}

absl::StatusOr<std::unique_ptr<Reservation>> VolumeLifecycle::Reserve(const std::string& uuid,
                                                                      Provisioning provisioning,
                                                                      Bytes increment) {
  auto reserved = space_.Reserve(uuid, provisioning, increment);
  if (!absl::IsResourceExhausted(reserved.status()) || !keeping_) return reserved;
  auto& [shelf, trash] = *keeping_;
  if (!trash.policy().reclaim) return reserved;
  const std::vector<std::string> oldest = trash.Oldest();
  // Nothing is purged that would not help.
  if (!space_.WouldFitWithout(oldest, provisioning, increment)) return reserved;
  for (const std::string& key : oldest) {
    const absl::Status purged = PurgeEntry(key);
    if (!purged.ok()) {
      LogWarning("no room is made by entry {} of the trash: {}", key, MessageOf(purged));
      continue;
    }
    LogInfo("entry {} of the trash was purged early, to make room for {}", key, uuid);
    shelf.AwaitRoom();
    reserved = space_.Reserve(uuid, provisioning, increment);
    if (!absl::IsResourceExhausted(reserved.status())) return reserved;
  }
  return reserved;
}

// Nothing is purged for a repeated call, which finds its volume.
absl::StatusOr<std::unique_ptr<Reservation>> VolumeLifecycle::ReserveNew(const std::string& uuid,
                                                                         Provisioning provisioning,
                                                                         Bytes increment) {
  auto reserved = space_.Reserve(uuid, provisioning, increment);
  if (!absl::IsResourceExhausted(reserved.status())) return reserved;
  if (!absl::IsNotFound(records_.Read(uuid).status())) return reserved;
  return Reserve(uuid, provisioning, increment);
}

}  // namespace holdfast::pool
