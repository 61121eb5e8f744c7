// SPDX-License-Identifier: Apache-2.0
// Growth: reserve the increment, record the target, extend the image, record the new capacity.
//
// A kill in between leaves a record with grow_to_bytes: the next Grow, MapDevice or Repair extends
// the image the rest of the way, or, if the room has gone meanwhile, takes the growth back. Both
// are safe because no device shows the new bytes before the record does. A record that was restored
// from a backup may tell of a growth that was over long ago, so bytes that were used are never cut.
#include "pool/file_pool.h"

#include <algorithm>

#include "os/file.h"
#include "pool/image_file.h"

namespace holdfast::pool {

absl::StatusOr<Volume> FilePool::Grow(const VolumeId& id, Bytes required, Bytes limit) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(VolumeRecord record, ReadRecord(pool, id));
  if (record.grow_to_bytes != 0) RETURN_IF_ERROR(FinishGrowth(pool, record));
  const Bytes present = record.volume.capacity_bytes;
  if (limit != 0 && present > limit) {
    return OutOfRange("volume '{}' has {} bytes, more than limit_bytes {}, and cannot shrink",
                      id.ToString(), present, limit);
  }
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImageOf(pool, id.uuid));
  RETURN_IF_ERROR(RequireImageSize(image.get(), record));
  if (present < required) {
    ASSIGN_OR_RETURN(const Bytes target, ChooseCapacity(required, limit, present));
    const absl::Status grown = GrowTo(pool, record, target);
    if (!grown.ok()) {
      CountByRecord(pool, id.uuid);  // which alone says how far it came
      return grown;
    }
  }
  // Repeated too, in case an earlier call stopped before the device was told.
  ASSIGN_OR_RETURN(const auto loop, FindLoopOf(image.get(), id.uuid));
  if (loop) RETURN_IF_ERROR(os::RefreshLoop(*loop).status());
  return WithPool(record.volume);
}

absl::Status FilePool::GrowTo(const VerifiedPool& pool, VolumeRecord& record, Bytes target) {
  const Volume& volume = record.volume;
  ASSIGN_OR_RETURN(Ledger::Grant grant, ledger_.Reserve(volume.id.uuid, volume.provisioning,
                                                        target - volume.capacity_bytes,
                                                        RoomMeter(pool), AllocationMeter(pool)));
  record.grow_to_bytes = target;
  RETURN_IF_ERROR(records_.Write(pool.volumes, record));
  RETURN_IF_ERROR(FinishGrowth(pool, record));
  grant.Keep();
  return absl::OkStatus();
}

// Counts the volume as its record on disk has it, a growth that has begun included. A write of the
// record that failed may have taken effect all the same (its sync failed).
void FilePool::CountByRecord(const VerifiedPool& pool, const std::string& uuid) {
  const auto record = records_.Read(pool.volumes, uuid);
  const auto allocated = AllocationMeter(pool)(uuid);
  if (!record.ok() || !allocated) return;
  const Volume& volume = record->volume;
  ledger_.Set(uuid, volume.provisioning, std::max(volume.capacity_bytes, record->grow_to_bytes),
              *allocated);
}

// Ends a growth that has begun, one way or the other.
absl::Status FilePool::FinishGrowth(const VerifiedPool& pool, VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImageOf(pool, record.volume.id.uuid));
  RETURN_IF_ERROR(RequireImageSize(image.get(), record));
  ASSIGN_OR_RETURN(const Bytes present, ImageSize(image.get()));
  if (present < record.grow_to_bytes) {
    RETURN_IF_ERROR(ExtendOrUndo(pool, image.get(), present, record));
  } else {  // an earlier call extended it, perhaps long ago: nothing of it can be taken back
    RETURN_IF_ERROR(os::Sync(image.get(), "image"));
  }
  ASSIGN_OR_RETURN(const Bytes allocated, ImageAllocated(image.get()));
  record.volume.capacity_bytes = record.grow_to_bytes;
  record.grow_to_bytes = 0;
  RETURN_IF_ERROR(records_.Write(pool.volumes, record));
  ledger_.Set(record.volume.id.uuid, record.volume.provisioning, record.volume.capacity_bytes,
              allocated);
  return absl::OkStatus();
}

absl::Status FilePool::ExtendOrUndo(const VerifiedPool& pool, int image_fd, Bytes present,
                                    VolumeRecord& record) {
  const absl::Status extended =
      ExtendImage(image_fd, record.grow_to_bytes, record.volume.provisioning);
  if (extended.ok()) return extended;
  absl::Status undone = UndoExtension(image_fd, present);  // gives the room of this try back
  if (undone.ok()) undone = UndoGrowth(pool, record);
  if (undone.ok()) return extended;
  return Unavailable("{}; and the growth could not be taken back yet: {}", MessageOf(extended),
                     MessageOf(undone));
}

absl::Status FilePool::UndoGrowth(const VerifiedPool& pool, VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImageOf(pool, record.volume.id.uuid));
  ASSIGN_OR_RETURN(const auto loop, FindLoopOf(image.get(), record.volume.id.uuid));
  if (loop && loop->block.size > record.volume.capacity_bytes) {
    return FailedPrecondition("{} already shows the new bytes", loop->block.path);
  }
  RETURN_IF_ERROR(UndoExtension(image.get(), record.volume.capacity_bytes));
  record.grow_to_bytes = 0;
  RETURN_IF_ERROR(records_.Write(pool.volumes, record));
  CountByRecord(pool, record.volume.id.uuid);
  return absl::OkStatus();
}

}  // namespace holdfast::pool
