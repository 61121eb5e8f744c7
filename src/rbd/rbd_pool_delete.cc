// SPDX-License-Identifier: Apache-2.0
// Deletion: refuse while in use, tombstone, fence a dead holder, remove the image, forget the
// record.
//
// A kill after the tombstone leaves a volume that no call sees any more; a repeated DeleteVolume, a
// CreateVolume of the same name and Repair carry on from wherever it stopped. Nothing is removed
// without a tombstone: only then is it sure that no other process still makes the volume, and as
// the image's name is never used again, that none removes a later volume's image.
#include <fmt/ranges.h>

#include "os/device_use.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {

absl::Status RequireRemovable(const CephPool& ceph, const pool::VolumeRecord& record) {
  const std::string& name = record.image_name;
  ASSIGN_OR_RETURN(const auto id, ReadImageId(ceph, name));
  if (!id) return absl::OkStatus();
  if (!record.image_id.empty() && record.volume.state != VolumeState::kAllocating) {
    if (*id == record.image_id) return absl::OkStatus();
    return FailedPrecondition(
        "image '{}' has id {}, the volume's has {}: it was replaced, and is left alone; if it "
        "is not needed, remove it: rbd rm",
        name, *id, record.image_id);
  }
  ASSIGN_OR_RETURN(const bool written, HoldsData(ceph, name));
  if (!written) return absl::OkStatus();
  return FailedPrecondition(
      "the record of volume {} says that its image '{}' was never completed, but that holds data: "
      "the record is older than the image, which is left alone; put the newer record back, or "
      "rename the image (docs/ceph.md, 'A record that is older than its image')",
      record.volume.id.uuid, name);
}

absl::Status RbdPool::Delete(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  auto entry = Read(*ceph, id);
  if (absl::IsNotFound(entry.status())) return absl::OkStatus();
  RETURN_IF_ERROR(entry.status());
  if (pool::IsUsable(entry->record.volume.state)) {
    RETURN_IF_ERROR(RequireUnusedAnywhere(*ceph, *entry));
  }
  RETURN_IF_ERROR(WriteTombstone(*ceph, *entry));
  return FinishDeletion(*ceph, *entry);
}

absl::Status RbdPool::WriteTombstone(const CephPool& ceph, RecordEntry& entry) {
  if (entry.record.volume.state == VolumeState::kDeleting) return absl::OkStatus();
  RETURN_IF_ERROR(RequireRemovable(ceph, entry.record));
  pool::VolumeRecord tombstone = entry.record;
  tombstone.volume.state = VolumeState::kDeleting;
  // With the holder: a node that has announced itself meanwhile is about to map the image.
  return RecordTable::Replace(ceph, entry, tombstone, /*as_holder=*/true);
}

absl::Status RbdPool::RequireUnusedAnywhere(const CephPool& ceph, const RecordEntry& entry) {
  const std::string& uuid = entry.record.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, FindDevice(uuid));
  if (device) RETURN_IF_ERROR(os::RequireUnused(device->block));
  if (common_->attach && !entry.nodes.published.empty()) {
    return FailedPrecondition("volume {} is published to node '{}'", uuid,
                              entry.nodes.published.front().node);
  }
  ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, entry.record.image_name));
  std::vector<std::string> watchers = facts ? facts->watchers : std::vector<std::string>();
  if (device) std::erase(watchers, device->client_address);
  for (const DeviceClaim& holder : entry.nodes.holders) {
    if (std::erase(watchers, holder.client_address) > 0) return InUse(uuid, holder);
    if (IsOwn(holder)) continue;  // its device, if any, is unused
    ASSIGN_OR_RETURN(const bool gone, IsGone(ceph.cluster(), holder));
    if (!gone) return InUse(uuid, holder);
  }
  if (watchers.empty()) return absl::OkStatus();
  return FailedPrecondition("volume {} is in use: clients {} have its image open", uuid,
                            fmt::join(watchers, ", "));
}

// For a tombstone.
absl::Status RbdPool::FinishDeletion(const CephPool& ceph, const RecordEntry& entry) {
  const std::string& uuid = entry.record.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, FindDevice(uuid));
  // The deletion has begun, so the answer must be one that makes the caller repeat it.
  if (device) RETURN_IF_ERROR(WithCode(Unmap(*device), absl::StatusCode::kUnavailable));
  for (const DeviceClaim& holder : entry.nodes.holders) {
    // What it still has under way would make objects that belong to no image.
    const bool held_here = device && IsClaimOf(holder, *device);
    if (!held_here && !holder.read_only) RETURN_IF_ERROR(Fence(ceph.cluster(), holder));
  }
  RETURN_IF_ERROR(RemoveImageOf(ceph, entry.record));
  return RecordTable::Remove(ceph, entry);
}

absl::Status RbdPool::RemoveImageOf(const CephPool& ceph, const pool::VolumeRecord& record) {
  RETURN_IF_ERROR(RequireRemovable(ceph, record));
  return common_->removals.Remove(ceph, record.image_name);
}

}  // namespace holdfast::rbd
