// SPDX-License-Identifier: Apache-2.0
// Growth: reserve the increment, record the target, extend the bytes, record the new capacity.
//
// A kill in between leaves a record with grow_to_bytes: the next Grow, Map or Repair extends the
// bytes the rest of the way, or, if the room is gone by then, takes the growth back. Both are
// safe because no device shows the new bytes before the record does. A record that was restored
// from a backup may speak of a growth that was over long ago, so bytes that were used are never
// cut off.
#include <algorithm>

#include "pool/volume_evidence.h"
#include "pool/volume_lifecycle.h"

namespace holdfast::pool {

absl::StatusOr<VolumeRecord> VolumeLifecycle::Grow(const VolumeId& id, Bytes required,
                                                   Bytes limit) {
  ASSIGN_OR_RETURN(VolumeRecord record, Get(id));
  RETURN_IF_ERROR(RequireNotBeingCopied(record, id));
  RETURN_IF_ERROR(FinishEarlierGrowth(record));
  const Bytes present = record.volume.capacity_bytes;
  if (limit != 0 && present > limit) {
    return OutOfRange("volume '{}' has {} bytes, more than limit_bytes {}, and cannot shrink",
                      id.ToString(), present, limit);
  }
  ASSIGN_OR_RETURN(const Bytes size, GrowableSize(record, required));
  if (present < required) {
    ASSIGN_OR_RETURN(const Bytes target, ChooseCapacity({required, limit}, present));
    const absl::Status grown = GrowTo(record, target, size);
    if (!grown.ok()) {
      AccountStored(id.uuid);  // only the stored record says how far it came
      return grown;
    }
  }
  // Repeated too, in case an earlier call stopped before the device showed the new size.
  RETURN_IF_ERROR(backend_.RefreshDevice(record));
  return record;
}

// Where the storage's own id proves that the bytes are the volume's, more of them than the record
// says only mean that it is an old one, which a growth beyond them brings up to date.
absl::StatusOr<Bytes> VolumeLifecycle::GrowableSize(const VolumeRecord& record, Bytes required) {
  ASSIGN_OR_RETURN(const Bytes size, backend_.Size(record));
  const bool is_old_record = record.volume.capacity_bytes < size && size <= required;
  if (!is_old_record || record.image_id.empty()) RETURN_IF_ERROR(RequireSize(size, record));
  return size;
}

absl::StatusOr<os::BlockDevice> VolumeLifecycle::Map(const VolumeId& id) {
  ASSIGN_OR_RETURN(VolumeRecord record, Get(id));
  RETURN_IF_ERROR(RequireNotBeingCopied(record, id));
  RETURN_IF_ERROR(FinishEarlierGrowth(record));
  RETURN_IF_ERROR(RequireSize(backend_, record));
  ASSIGN_OR_RETURN(const os::BlockDevice device, backend_.Map(record));
  if (device.size == record.volume.capacity_bytes) return device;
  return Internal("{} has {} bytes, volume '{}' has {}", device.path, device.size, id.ToString(),
                  record.volume.capacity_bytes);
}

// `present` is the size of the bytes now.
absl::Status VolumeLifecycle::GrowTo(VolumeRecord& record, Bytes target, Bytes present) {
  const Volume& volume = record.volume;
  ASSIGN_OR_RETURN(const std::unique_ptr<Reservation> reservation,
                   Reserve(volume.id.uuid, volume.provisioning, target - volume.capacity_bytes));
  const VolumeRecord before = record;
  record.grow_to_bytes = target;
  RETURN_IF_ERROR(records_.Replace(before, record));
  RETURN_IF_ERROR(FinishGrowth(record, present));
  reservation->Commit();
  return absl::OkStatus();
}

// The record may not be durable: if the bytes grew then and the power failed, the record would say
// less than they are.
absl::Status VolumeLifecycle::FinishEarlierGrowth(VolumeRecord& record) {
  if (record.grow_to_bytes == 0) return absl::OkStatus();
  RETURN_IF_ERROR(records_.SyncAll(record.volume.id.uuid));
  ASSIGN_OR_RETURN(const Bytes present, backend_.Size(record));
  return FinishGrowth(record, present);
}

// Ends a growth that has begun, one way or the other.
absl::Status VolumeLifecycle::FinishGrowth(VolumeRecord& record, Bytes present) {
  RETURN_IF_ERROR(RequireSize(present, record));
  if (present < record.grow_to_bytes) {
    RETURN_IF_ERROR(ExtendOrUndo(record, present));
  } else {  // an earlier call extended it, perhaps long ago: nothing of it can be taken back
    RETURN_IF_ERROR(backend_.Sync(record));
  }
  ASSIGN_OR_RETURN(const Bytes allocated, backend_.Allocated(record));
  const VolumeRecord growing = record;
  record.volume.capacity_bytes = record.grow_to_bytes;
  record.grow_to_bytes = 0;
  RETURN_IF_ERROR(records_.Replace(growing, record));
  space_.Set(record.volume.id.uuid, record.volume.provisioning, record.volume.capacity_bytes,
             allocated);
  return absl::OkStatus();
}

absl::Status VolumeLifecycle::ExtendOrUndo(VolumeRecord& record, Bytes present) {
  const absl::Status extended = backend_.Extend(record, record.grow_to_bytes);
  if (extended.ok()) return extended;
  // The storage may still be at work on it.
  if (records_.AreShared() && absl::IsUnavailable(extended)) return extended;
  const absl::Status undone = UndoGrowth(record, present);
  if (undone.ok()) return extended;
  return Unavailable("{}; and the growth could not be taken back yet: {}", MessageOf(extended),
                     MessageOf(undone));
}

absl::Status VolumeLifecycle::UndoGrowth(VolumeRecord& record, Bytes present) {
  const auto cut_off = [&](Bytes size) -> absl::Status {
    ASSIGN_OR_RETURN(const bool data, backend_.HoldData(record, size));
    if (!data) return backend_.CutOff(record, size);
    return FailedPrecondition("the image holds data beyond {} bytes, which are not cut off", size);
  };
  RETURN_IF_ERROR(cut_off(present));  // gives the room of this attempt back
  const Bytes capacity = record.volume.capacity_bytes;
  ASSIGN_OR_RETURN(const auto device, backend_.FindDevice(record));
  if (device && device->size > capacity) {
    return FailedPrecondition("{} already shows the new bytes", device->path);
  }
  RETURN_IF_ERROR(cut_off(capacity));
  const VolumeRecord growing = record;
  record.grow_to_bytes = 0;
  RETURN_IF_ERROR(records_.Replace(growing, record));
  AccountStored(record.volume.id.uuid);
  return absl::OkStatus();
}

}  // namespace holdfast::pool
