// SPDX-License-Identifier: Apache-2.0
// The records of deleted volumes and snapshots that are kept for a while, in the cluster itself
// (rbd/record_objects.h). Their bytes stay where they are, under the names that the records have.
//
// A record moves into the trash and out of it by one atomic operation, so it is always in one of
// the two places, and of two processes one is faster.
#pragma once

#include <map>
#include <string>

#include "rbd/record_table.h"

namespace holdfast::rbd {

struct TrashedRecord {
  pool::VolumeRecord record;  // `trashed` is set
  std::string text;           // as stored, for the comparison when it is changed
};

// INTERNAL if it is not the record of that entry.
[[nodiscard]] absl::StatusOr<pool::VolumeRecord> DecodeTrashed(const std::string& key,
                                                               const std::string& text);

// Thread-safe. Common errors: those of Cluster::Try; INTERNAL for a damaged record; ABORTED, with
// nothing changed, if what is stored is not what was read any more.
class TrashTable final {
 public:
  // NOT_FOUND if the entry does not exist.
  [[nodiscard]] static absl::StatusOr<TrashedRecord> Read(const CephPool& pool,
                                                          const std::string& key);

  // The records of that UUID: under it that of the volume or snapshot, and under their keys those
  // that are kept. All are of one moment, so that none that is being moved is missed.
  [[nodiscard]] static absl::StatusOr<std::map<std::string, pool::VolumeRecord>> AllOf(
      const CephPool& pool, const std::string& uuid);

  // Moves the record, which is in state trashed, to its key, and forgets the nodes. ABORTED also if
  // the nodes are others, or there is such an entry.
  [[nodiscard]] static absl::Status Put(const CephPool& pool, const RecordEntry& entry);

  // Moves it back to its UUID, as `next`. ALREADY_EXISTS if there is a record of that UUID.
  [[nodiscard]] static absl::Status TakeBack(const CephPool& pool, const TrashedRecord& entry,
                                             const pool::VolumeRecord& next);

  // Puts `next` in its place, and updates `entry`.
  [[nodiscard]] static absl::Status Replace(const CephPool& pool, TrashedRecord& entry,
                                            const pool::VolumeRecord& next);

  // OK if there is none.
  [[nodiscard]] static absl::Status Remove(const CephPool& pool, const TrashedRecord& entry);
};

}  // namespace holdfast::rbd
