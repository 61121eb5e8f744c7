// SPDX-License-Identifier: Apache-2.0
// Snapshots that are held for a copy in another pool or on another node (docs/adr/0032). The CO
// does not know of them. Whoever needs one says so again and again; when that has not happened for
// an hour, the reconciler removes it.
#include "core/clock.h"
#include "pool/volume_lifecycle.h"
#include "pool/volume_match.h"

namespace holdfast::pool {

absl::Status VolumeLifecycle::KeepHeld(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VolumeRecord record, Get(id, VolumeRole::kSnapshot));
  if (!record.volume.held() || !IsDueAgain(record.volume.held_at, now_())) return absl::OkStatus();
  VolumeRecord next = record;
  next.volume.held_at = Rfc3339(now_());
  return records_.Replace(record, next);
}

bool VolumeLifecycle::IsAbandoned(const VolumeRecord& record) const {
  if (record.volume.held()) return IsForgotten(record.volume.held_at, now_());
  return record.copy && record.copy->from_elsewhere() &&
         IsForgotten(record.copy->wanted_at, now_());
}

}  // namespace holdfast::pool
