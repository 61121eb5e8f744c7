// SPDX-License-Identifier: Apache-2.0
// Deleted volumes and snapshots that a file pool keeps for a while (docs/trash.md).
#include <algorithm>
#include <utility>

#include "core/log.h"
#include "file/file_pool_call.h"

namespace holdfast::file {

absl::Status FilePool::CountTrash(const VerifiedPool& pool) {
  ASSIGN_OR_RETURN(const std::vector<std::string> keys, FileShelf::Keys(pool.trash));
  Call call(*this, pool);
  for (const std::string& key : keys) {
    // One damaged entry must not keep the volumes from their pods.
    const absl::Status counted = call.volumes.CountEntry(key);
    if (!counted.ok()) LogError("recovery: {}", MessageOf(counted));
  }
  return absl::OkStatus();
}

// Those whose time is over, or has to be noted, and those that are not as they should be or were
// removed by hand.
absl::Status FilePool::FindUntended(const VerifiedPool& pool,
                                    std::vector<Leftover>& leftovers) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> keys, FileShelf::Keys(pool.trash));
  for (const std::string& key : keys) {
    const auto entry = trash_.Find(key);
    if (entry && !pool::Trash::IsDue(*entry) && !pool::Trash::IsNoteDue(*entry)) continue;
    leftovers.push_back({LeftoverKind::kTrash, IdOfKey(key).ToString()});
  }
  for (const pool::Trash::Entry& entry : trash_.List()) {
    const std::string& key = entry.record.trashed->key;
    if (std::ranges::binary_search(keys, key)) continue;
    leftovers.push_back({LeftoverKind::kTrash, IdOfKey(key).ToString()});
  }
  return absl::OkStatus();
}

TrashId FilePool::IdOfKey(const std::string& key) const {
  return {.pool = info_.name, .node = info_.node, .key = key};
}

absl::StatusOr<std::vector<pool::TrashEntry>> FilePool::ListTrash() {
  RETURN_IF_ERROR(directory_.Verify().status());
  std::vector<pool::TrashEntry> entries;
  for (pool::Trash::Entry& entry : trash_.List()) {
    const pool::Trashed& trashed = *entry.record.trashed;
    Volume volume = WithPool(std::move(entry.record.volume));
    volume.state = trashed.before;
    entries.push_back({.id = IdOfKey(trashed.key),
                       .volume = std::move(volume),
                       .deleted_at = trashed.deleted_at,
                       .keep = trashed.keep,
                       .kept = entry.kept,
                       .allocated = entry.allocated});
  }
  return entries;
}

absl::StatusOr<Volume> FilePool::RestoreTrash(const TrashId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record, Call(*this, pool).volumes.Restore(id.key));
  return WithPool(record.volume);
}

absl::Status FilePool::PurgeTrash(const TrashId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.PurgeEntry(id.key);
}

absl::StatusOr<bool> FilePool::TendTrash(const TrashId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.Tend(id.key);
}

}  // namespace holdfast::file
