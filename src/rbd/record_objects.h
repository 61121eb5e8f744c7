// SPDX-License-Identifier: Apache-2.0
// Where the records of volumes and snapshots are in the cluster, and what of them is believed.
//
// They are omap values of sixteen objects, "holdfast.volumes.0" to "holdfast.volumes.f", by the
// first digit of the UUID: so that lists are a few reads, pages are in order, and no object is a
// hot spot. All keys that begin with one UUID are in one object, so that one atomic RADOS operation
// moves a record from one of them to another:
//   UUID         the record of the volume or snapshot (rbd/record_table.h)
//   UUID.TIME    that of one that is kept in the trash (core/trash_id.h, rbd/trash_table.h)
//   UUID/nodes   the nodes that have the volume (rbd/volume_nodes.h)
#pragma once

#include <string>

#include "pool/volume_record.h"
#include "rbd/ceph_pool.h"
#include "rbd/omap.h"

namespace holdfast::rbd {

[[nodiscard]] std::string RecordObject(char first_digit);
// `key` is any of the above.
[[nodiscard]] inline std::string RecordObjectOf(const std::string& key) {
  return RecordObject(key.front());
}
[[nodiscard]] std::string NodesKey(const std::string& uuid);

// INTERNAL if it is damaged, another one's, or names bytes that cannot be this one's.
[[nodiscard]] absl::StatusOr<pool::VolumeRecord> DecodeRecordOf(const std::string& uuid,
                                                                const std::string& text);

// Changes the object of that UUID. ABORTED if a guard did not hold.
[[nodiscard]] absl::Status ChangeRecords(const CephPool& pool, const std::string& uuid,
                                         const OmapChange& change, const std::string& what);

// ABORTED
[[nodiscard]] absl::Status ChangedMeanwhile(const std::string& uuid);

}  // namespace holdfast::rbd
