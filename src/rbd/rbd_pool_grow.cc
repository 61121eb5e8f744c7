// SPDX-License-Identifier: Apache-2.0
// Growth: record the target, grow the image, record the new capacity.
//
// A kill in between leaves a record with grow_to_bytes: the next Grow or MapDevice grows the image
// the rest of the way. An image never shrinks.
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {

absl::StatusOr<Volume> RbdPool::Grow(const VolumeId& id, Bytes required, Bytes limit) {
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(RecordEntry entry, ReadUsable(*ceph, id));
  if (entry.record.grow_to_bytes != 0) RETURN_IF_ERROR(FinishGrowth(*ceph, entry));
  const Bytes present = entry.record.volume.capacity_bytes;
  if (limit != 0 && present > limit) {
    return OutOfRange("volume '{}' has {} bytes, more than limit_bytes {}, and cannot shrink",
                      id.ToString(), present, limit);
  }
  if (present < required) {
    ASSIGN_OR_RETURN(const Bytes target, ChooseCapacity(required, limit, present));
    RETURN_IF_ERROR(RequireRoom(*ceph, target - present));
    pool::VolumeRecord growing = entry.record;
    growing.grow_to_bytes = target;
    RETURN_IF_ERROR(RecordTable::Replace(*ceph, entry, growing, /*as_holder=*/false));
    RETURN_IF_ERROR(FinishGrowth(*ceph, entry));
  }
  // Repeated too, in case an earlier call stopped before the device was told.
  ASSIGN_OR_RETURN(const auto device, FindDevice(id.uuid));
  if (device) RETURN_IF_ERROR(common_->device_calls.Refresh(id.uuid, *device).status());
  return WithPool(entry.record.volume);
}

// Ends a growth that has begun, one way or the other.
absl::Status RbdPool::FinishGrowth(const CephPool& ceph, RecordEntry& entry) {
  const std::string& name = entry.record.image_name;
  pool::VolumeRecord record = entry.record;
  const absl::Status grown = GrowImage(ceph, name, record.grow_to_bytes);
  if (absl::IsResourceExhausted(grown) || absl::IsFailedPrecondition(grown)) {
    // Refused as a whole: as before, as long as the image is.
    ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, name));
    if (!facts || facts->size != record.volume.capacity_bytes) return grown;
    record.grow_to_bytes = 0;
    RETURN_IF_ERROR(RecordTable::Replace(ceph, entry, record, /*as_holder=*/false));
    return grown;
  }
  RETURN_IF_ERROR(grown);
  record.volume.capacity_bytes = record.grow_to_bytes;
  record.grow_to_bytes = 0;
  return RecordTable::Replace(ceph, entry, record, /*as_holder=*/false);
}

}  // namespace holdfast::rbd
