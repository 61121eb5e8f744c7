// SPDX-License-Identifier: Apache-2.0
// The durable records of a pool's volumes, in the cluster itself: the node that stages a volume
// next may be another node.
//
// rbd/record_objects.h says where. Every change is one atomic RADOS operation, guarded by what was
// there before.
#pragma once

#include <string>
#include <vector>

#include "pool/volume_record.h"
#include "rbd/ceph_pool.h"
#include "rbd/volume_nodes.h"

namespace holdfast::rbd {

struct RecordEntry {
  pool::VolumeRecord record;
  VolumeNodes nodes;
  // As stored, for the comparison when it is changed.
  std::string record_text;
  std::string nodes_text;  // empty: no nodes
};

// Thread-safe. Common errors: those of Cluster::Try; INTERNAL for a damaged record.
class RecordTable final {
 public:
  // NOT_FOUND if there is no record of `uuid`.
  [[nodiscard]] static absl::StatusOr<RecordEntry> Read(const CephPool& pool,
                                                        const std::string& uuid);

  // Makes the record of a new volume and returns the entry. ALREADY_EXISTS if there is one.
  [[nodiscard]] static absl::StatusOr<RecordEntry> Insert(const CephPool& pool,
                                                          const pool::VolumeRecord& record);

  // Replaces the record of `entry`, and updates `entry`. ABORTED if the stored record is not the
  // entry's any more. With `as_holder`, also if the stored nodes are not: a node that has been
  // fenced must not go on deciding about the volume.
  [[nodiscard]] static absl::Status Replace(const CephPool& pool, RecordEntry& entry,
                                            const pool::VolumeRecord& record, bool as_holder);

  // Removes record and nodes. ABORTED as above; OK if there is none.
  [[nodiscard]] static absl::Status Remove(const CephPool& pool, const RecordEntry& entry);

  // Puts `nodes` in the place of the entry's and updates `entry`. ABORTED if the stored ones, or
  // the stored record, are not the entry's any more.
  [[nodiscard]] static absl::Status SetNodes(const CephPool& pool, RecordEntry& entry,
                                             const VolumeNodes& nodes);

  struct Page {
    std::vector<pool::VolumeRecord> records;
    std::vector<std::string> damaged;  // uuids of records between them that cannot be believed
    // What is in the trash there, and the keys of what is damaged of it.
    std::vector<pool::VolumeRecord> trashed;
    std::vector<std::string> damaged_in_trash;
  };
  // Up to `limit` (0: all) records after `after_uuid`, by uuid, in every state.
  [[nodiscard]] static absl::StatusOr<Page> List(const CephPool& pool,
                                                 const std::string& after_uuid, std::size_t limit);
};

}  // namespace holdfast::rbd
