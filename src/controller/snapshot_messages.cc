// SPDX-License-Identifier: Apache-2.0
#include "controller/snapshot_messages.h"

#include <absl/time/time.h>

namespace holdfast::controller {

csi::v1::Snapshot DescribeSnapshot(const Volume& snapshot) {
  csi::v1::Snapshot described;
  described.set_snapshot_id(ToSnapshotId(snapshot.id));
  described.set_size_bytes(snapshot.capacity_bytes);
  if (snapshot.source) described.set_source_volume_id(snapshot.source->ToString());
  described.set_ready_to_use(snapshot.state != VolumeState::kCopying);
  absl::Time cut;
  if (absl::ParseTime(absl::RFC3339_full, snapshot.created_at, &cut, nullptr)) {
    described.mutable_creation_time()->set_seconds(absl::ToUnixSeconds(cut));
  }
  return described;
}

}  // namespace holdfast::controller
