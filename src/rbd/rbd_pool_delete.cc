// SPDX-License-Identifier: Apache-2.0
// Deletion: refuse while in use, tombstone, fence a dead holder, remove the image, forget the
// record.
//
// A kill after the tombstone leaves a volume that no call sees any more; a repeated DeleteVolume
// and a CreateVolume of the same name carry on from wherever it stopped.
#include <fmt/ranges.h>

#include "os/device_use.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {

absl::Status RbdPool::Delete(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  auto entry = Journal::Read(*ceph, id.uuid);
  if (absl::IsNotFound(entry.status())) return absl::OkStatus();
  RETURN_IF_ERROR(entry.status());
  if (entry->record.volume.state != VolumeState::kAllocating &&
      entry->record.volume.state != VolumeState::kDeleting) {
    RETURN_IF_ERROR(RequireUnusedAnywhere(*ceph, *entry));
    pool::VolumeRecord tombstone = entry->record;
    tombstone.volume.state = VolumeState::kDeleting;
    RETURN_IF_ERROR(Journal::Replace(*ceph, *entry, tombstone, /*as_holder=*/false));
  }
  return FinishDeletion(*ceph, *entry);
}

absl::Status RbdPool::RequireUnusedAnywhere(const CephPool& ceph, const JournalEntry& entry) {
  const std::string& uuid = entry.record.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, FindDevice(uuid));
  if (device) return os::RequireUnused(device->block);
  ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, ImageName(uuid)));
  if (!facts || facts->watchers.empty()) return absl::OkStatus();
  return FailedPrecondition("volume {} is in use on node '{}': clients {} have its image open",
                            uuid, entry.holder ? entry.holder->node : "(unknown)",
                            fmt::join(facts->watchers, ", "));
}

// For a volume that is a tombstone, or of which the CO was never told.
absl::Status RbdPool::FinishDeletion(const CephPool& ceph, const JournalEntry& entry) {
  const std::string& uuid = entry.record.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, FindDevice(uuid));
  if (device) {
    // The deletion has begun, so the answer must be one that makes the caller repeat it.
    RETURN_IF_ERROR(WithCode(Unmap(*device), absl::StatusCode::kUnavailable));
  } else if (entry.holder) {
    // What it still has under way would make objects that belong to no image.
    RETURN_IF_ERROR(Fence(ceph.cluster(), *entry.holder));
  }
  RETURN_IF_ERROR(RemoveImage(ceph, ImageName(uuid)));
  return Journal::Remove(ceph, entry);
}

}  // namespace holdfast::rbd
