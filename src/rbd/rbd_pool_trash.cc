// SPDX-License-Identifier: Apache-2.0
// Deleted volumes and snapshots that are kept for a while (docs/trash.md).
#include <algorithm>
#include <set>
#include <utility>

#include "rbd/rbd_pool.h"
#include "rbd/rbd_volumes.h"

namespace holdfast::rbd {

TrashId RbdPool::IdOfKey(const std::string& key) const {
  return {.pool = info_.name, .node = info_.node, .key = key};
}

// What is being purged has no place in lists.
absl::StatusOr<std::vector<pool::TrashEntry>> RbdPool::ListTrash() {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(RecordTable::Page page, RecordTable::List(*ceph, "", 0));
  std::vector<pool::TrashEntry> entries;
  for (pool::VolumeRecord& record : page.trashed) {
    if (record.volume.state != VolumeState::kTrashed) continue;
    common_->trash.Refresh(record);
    const pool::Trashed& trashed = *record.trashed;
    const auto seen = common_->trash.Find(trashed.key);
    Volume volume = WithPool(std::move(record.volume));
    volume.state = trashed.before;
    entries.push_back({.id = IdOfKey(trashed.key),
                       .volume = std::move(volume),
                       .deleted_at = trashed.deleted_at,
                       .keep = trashed.keep,
                       .kept = seen ? seen->kept : trashed.kept,
                       .allocated = seen ? seen->allocated : 0});
  }
  return entries;
}

pool::TrashUse RbdPool::TrashUseOf(const std::vector<pool::VolumeRecord>& trashed) const {
  pool::TrashUse use;
  for (const pool::VolumeRecord& record : trashed) {
    if (record.volume.state != VolumeState::kTrashed) continue;
    ++use.entries;
    const auto seen = common_->trash.Find(record.trashed->key);
    if (seen) use.allocated += seen->allocated;
  }
  return use;
}

void RbdPool::FindUntended(const RecordTable::Page& page, std::vector<Leftover>& leftovers) {
  const auto add = [&](const std::string& key) {
    leftovers.push_back({LeftoverKind::kTrash, IdOfKey(key).ToString()});
  };
  std::set<std::string> present;
  for (const pool::VolumeRecord& record : page.trashed) {
    const std::string& key = record.trashed->key;
    present.insert(key);
    common_->trash.Refresh(record);
    const auto entry = common_->trash.Find(key);
    const bool waits = entry && record.volume.state == VolumeState::kTrashed &&
                       !pool::Trash::IsDue(*entry) && !pool::Trash::IsNoteDue(*entry);
    if (!waits) add(key);
  }
  std::ranges::for_each(page.damaged_in_trash, add);
  for (const pool::Trash::Entry& entry : common_->trash.List()) {
    if (!present.contains(entry.record.trashed->key)) add(entry.record.trashed->key);
  }
}

absl::StatusOr<Volume> RbdPool::RestoreTrash(const TrashId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record, Call(*this, *ceph).volumes.Restore(id.key));
  return WithPool(record.volume);
}

absl::Status RbdPool::PurgeTrash(const TrashId& id) {
  if (!common_->is_controller) {
    return FailedPrecondition(
        "pool '{}' is in Ceph, and only a controller removes its volumes: run holdfast trash purge "
        "there",
        info_.name);
  }
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.PurgeEntry(id.key);
}

absl::StatusOr<bool> RbdPool::TendTrash(const TrashId& id) {
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  const auto tended = Call(*this, *ceph).volumes.Tend(id.key);
  // Another process is at work on it.
  if (absl::IsAborted(tended.status())) return false;
  return tended;
}

}  // namespace holdfast::rbd
