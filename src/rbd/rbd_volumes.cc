// SPDX-License-Identifier: Apache-2.0
#include "rbd/rbd_volumes.h"

#include <algorithm>

#include "os/device_use.h"
#include "rbd/format_mark.h"

namespace holdfast::rbd {
namespace {

absl::Status WasReplaced(const pool::VolumeRecord& record, const std::string& id) {
  return FailedPrecondition(
      "image '{}' has id {}, the volume's has {}: it was replaced, and is left alone; if it is not "
      "needed, remove it: rbd rm",
      record.image_name, id, record.image_id);
}

absl::Status Changed(const pool::VolumeRecord& record) {
  return Aborted("volume {} was changed by another process meanwhile; try again",
                 record.volume.id.uuid);
}

// Whether the record says which id the image has. It does not while it is being made.
bool KnowsImageId(const pool::VolumeRecord& record) {
  return !record.image_id.empty() && record.volume.state != VolumeState::kAllocating;
}

// OK if the record's image, if there is one, may be removed with it: it has the id that the record
// says; or the record has no id, because it was never completed, and nothing was written to it.
absl::Status RequireRemovable(const CephPool& ceph, const pool::VolumeRecord& record) {
  const std::string& name = record.image_name;
  ASSIGN_OR_RETURN(const auto id, ReadImageId(ceph, name));
  if (!id) return absl::OkStatus();
  if (KnowsImageId(record)) {
    return *id == record.image_id ? absl::OkStatus() : WasReplaced(record, *id);
  }
  ASSIGN_OR_RETURN(const bool written, HoldsData(ceph, name, 0));
  if (!written) return absl::OkStatus();
  return FailedPrecondition(
      "the record of volume {} says that its image '{}' was never completed, but that holds data: "
      "the record is older than the image, which is left alone; restore the newer record, or "
      "rename "
      "the image (docs/ceph.md, 'A record that is older than its image')",
      record.volume.id.uuid, name);
}

// A cluster pool has nothing to release: what was asked is not set aside.
class NoReservation final : public pool::Reservation {
 public:
  void Commit() override {}
};

}  // namespace

RecordEntry* RbdPool::Records::Find(const std::string& uuid) {
  const auto found = entries_.find(uuid);
  return found == entries_.end() ? nullptr : &found->second;
}

absl::StatusOr<pool::VolumeRecord> RbdPool::Records::Read(const std::string& uuid) {
  entries_.erase(uuid);
  ASSIGN_OR_RETURN(RecordEntry entry, pool_.Read(ceph_, pool_.WithUuid(uuid)));
  const bool is_expected = expected_image_.empty() || entry.record.image_name == expected_image_;
  if (!is_expected) return Changed(entry.record);
  return entries_.emplace(uuid, std::move(entry)).first->second.record;
}

absl::Status RbdPool::Records::Insert(const pool::VolumeRecord& record) {
  entries_.erase(record.volume.id.uuid);
  ASSIGN_OR_RETURN(RecordEntry entry, RecordTable::Insert(ceph_, record));
  entries_.emplace(record.volume.id.uuid, std::move(entry));
  return absl::OkStatus();
}

// A node that has been fenced must not go on deciding about the volume, and one that has announced
// itself meanwhile is about to map the image. Whether it exists, and how large it is, they do not
// decide.
absl::Status RbdPool::Records::Replace(const pool::VolumeRecord& present,
                                       const pool::VolumeRecord& next) {
  const VolumeState state = next.volume.state;
  const bool as_holder = state != present.volume.state && state != VolumeState::kReady;
  RecordEntry* const entry = Find(present.volume.id.uuid);
  if (entry == nullptr || !(entry->record == present)) return Changed(present);
  return RecordTable::Replace(ceph_, *entry, next, as_holder);
}

absl::Status RbdPool::Records::Remove(const pool::VolumeRecord& present) {
  const RecordEntry* const entry = Find(present.volume.id.uuid);
  if (entry == nullptr) return absl::OkStatus();
  if (!(entry->record == present)) return Changed(present);
  RETURN_IF_ERROR(RecordTable::Remove(ceph_, *entry));
  entries_.erase(present.volume.id.uuid);
  return absl::OkStatus();
}

// The id of the record's image; nothing if there is none. FAILED_PRECONDITION if it is not the one
// that the record says. Asked until there is one.
absl::StatusOr<std::optional<std::string>> RbdPool::Images::FindImage(
    const pool::VolumeRecord& record) {
  if (record.image_name.empty()) return std::nullopt;
  if (!image_id_ || looked_up_ != record.image_name) {
    ASSIGN_OR_RETURN(image_id_, ReadImageId(ceph_, record.image_name));
    looked_up_ = record.image_name;
  }
  if (image_id_ && KnowsImageId(record) && *image_id_ != record.image_id) {
    return WasReplaced(record, *image_id_);
  }
  return image_id_;
}

absl::StatusOr<std::string> RbdPool::Images::RequireImage(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const auto id, FindImage(record));
  if (id) return *id;
  return FailedPrecondition(
      "image '{}' is missing from the Ceph pool; it was removed outside Holdfast",
      record.image_name);
}

absl::StatusOr<RecordEntry*> RbdPool::Images::EntryOf(const pool::VolumeRecord& record) {
  if (RecordEntry* const entry = records_.Find(record.volume.id.uuid)) return entry;
  return Changed(record);
}

std::string RbdPool::Images::NewName(const pool::VolumeRecord& record,
                                     const pool::VolumeRecord* source) {
  const std::string name = NewImageName(record.volume.id.uuid);
  if (record.volume.role == VolumeRole::kVolume) return name;
  return SnapshotName{source->image_name, name}.ToString();
}

absl::StatusOr<bool> RbdPool::Images::Exist(const pool::VolumeRecord& record) {
  if (record.volume.role == VolumeRole::kSnapshot) {
    ASSIGN_OR_RETURN(const auto snapshot, FindSnapshot(record));
    return snapshot.has_value();
  }
  ASSIGN_OR_RETURN(const auto id, FindImage(record));
  return id.has_value();
}

absl::StatusOr<Bytes> RbdPool::Images::Size(const pool::VolumeRecord& record) {
  if (record.volume.role == VolumeRole::kSnapshot) {
    ASSIGN_OR_RETURN(const auto snapshot, FindSnapshot(record));
    if (snapshot) return snapshot->size;
    return FailedPrecondition(
        "snapshot '{}' is missing from the Ceph pool; it was removed outside Holdfast",
        record.image_name);
  }
  ASSIGN_OR_RETURN(const std::string id, RequireImage(record));
  ASSIGN_OR_RETURN(const auto size, ReadImageSize(ceph_, id));
  if (size) return *size;
  return FailedPrecondition("image '{}' is incomplete: it has a name but no header",
                            record.image_name);
}

absl::StatusOr<bool> RbdPool::Images::HoldData(const pool::VolumeRecord& record, Bytes begin) {
  RETURN_IF_ERROR(RequireImage(record).status());
  return HoldsData(ceph_, record.image_name, begin);
}

absl::StatusOr<std::string> RbdPool::Images::ReadMark(const pool::VolumeRecord& record) {
  if (record.volume.role == VolumeRole::kSnapshot) return "";  // nothing is ever written to it
  ASSIGN_OR_RETURN(const std::string id, RequireImage(record));
  ASSIGN_OR_RETURN(const auto mark, ReadFormatMark(ceph_, id));
  if (!mark) return "";
  // librbd has copied the source's with the image, which is removed before it is used.
  const bool copied = std::ranges::find(record.volume.inherited_uuids, UuidOfMark(*mark)) !=
                      record.volume.inherited_uuids.end();
  return copied ? "" : UuidOfMark(*mark);
}

// Only the call that has made an image knows that it has all its parts: a kill may have left it
// without its object map, which does not show when it is opened to be read. So one that is there
// already is not used; the repeated call gives up its record, with its name, and removes it.
absl::StatusOr<std::string> RbdPool::Images::Make(const pool::VolumeRecord& record) {
  const std::string& name = record.image_name;
  const absl::Status made =
      MakeImage(ceph_, name, record.volume.capacity_bytes, pool_.access_.data_pool);
  if (absl::IsAlreadyExists(made)) return WithCode(made, absl::StatusCode::kAborted);
  RETURN_IF_ERROR(made);
  ASSIGN_OR_RETURN(const auto id, ReadImageId(ceph_, name));
  if (id) return *id;
  return Aborted("image '{}' was removed while it was made; try again", name);
}

absl::Status RbdPool::Images::Extend(const pool::VolumeRecord& record, Bytes size) {
  return GrowImage(ceph_, record.image_name, size);
}

absl::Status RbdPool::Images::CutOff(const pool::VolumeRecord& record, Bytes size) {
  ASSIGN_OR_RETURN(const Bytes present, Size(record));
  if (present <= size) return absl::OkStatus();
  return FailedPrecondition("image '{}' has {} bytes, and an image in Ceph is never shrunk",
                            record.image_name, present);
}

absl::Status RbdPool::Images::RequireHeldHere(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const RecordEntry* const entry, EntryOf(record));
  return pool_.RequireHeldHere(*entry).status();
}

// Through the device, whose client is the one that a takeover fences.
absl::Status RbdPool::Images::Zero(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const RecordEntry* const entry, EntryOf(record));
  ASSIGN_OR_RETURN(const RbdDevice device, pool_.RequireHeldHere(*entry));
  RETURN_IF_ERROR(RefuseFormatMark(ceph_, record.image_id, MarkOf(record.volume)));
  return os::ZeroBlockDevice(device.block);
}

absl::Status RbdPool::Images::Mark(const pool::VolumeRecord& record) {
  return SetFormatMark(ceph_, record.image_id, MarkOf(record.volume));
}

absl::Status RbdPool::Images::Discard(const pool::VolumeRecord& record) {
  if (record.image_name.empty()) return absl::OkStatus();
  const auto snapshot = ParseSnapshotName(record.image_name);
  if (snapshot) return DiscardSnapshot(record, *snapshot);
  RETURN_IF_ERROR(RequireRemovable(ceph_, record));
  const RecordEntry* const entry = records_.Find(record.volume.id.uuid);
  if (entry != nullptr && entry->record.image_name == record.image_name) {
    RETURN_IF_ERROR(FenceHolders(*entry));
  }
  image_id_.reset();
  return DiscardImage(record);
}

absl::Status RbdPool::Images::FenceHolders(const RecordEntry& entry) {
  for (const DeviceClaim& holder : entry.nodes.holders) {
    const bool was_here = unmapped_ && pool_.IsClaimOf(holder, *unmapped_);
    if (!was_here && !holder.read_only) RETURN_IF_ERROR(Fence(ceph_.cluster(), holder));
  }
  return absl::OkStatus();
}

absl::StatusOr<os::BlockDevice> RbdPool::Images::Map(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(RecordEntry* const read, EntryOf(record));
  RecordEntry& entry = *read;
  const VolumeId id = pool_.WithUuid(record.volume.id.uuid);
  RETURN_IF_ERROR(pool_.RequirePublished(entry, wanted_));
  if (wanted_.read_only) RETURN_IF_ERROR(pool_.RequireReadable(record, id));
  ASSIGN_OR_RETURN(RbdDevice device, pool_.FindOrMap(ceph_, entry, id, wanted_));
  if (device.block.size != record.volume.capacity_bytes) {
    ASSIGN_OR_RETURN(device.block.size, pool_.common_->device_calls.Refresh(id.uuid, device));
  }
  return device.block;
}

absl::StatusOr<std::optional<os::BlockDevice>> RbdPool::Images::FindDevice(
    const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const auto device, pool_.FindDevice(record.volume.id.uuid));
  if (!device) return std::nullopt;
  return device->block;
}

absl::Status RbdPool::Images::RefreshDevice(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, pool_.FindDevice(uuid));
  return device ? pool_.common_->device_calls.Refresh(uuid, *device).status() : absl::OkStatus();
}

absl::Status RbdPool::Images::RequireUnused(const pool::VolumeRecord& record) {
  if (record.volume.role == VolumeRole::kSnapshot) return FindSnapshot(record).status();
  RETURN_IF_ERROR(RequireRemovable(ceph_, record));
  ASSIGN_OR_RETURN(const RecordEntry* const entry, EntryOf(record));
  return pool_.RequireUnusedAnywhere(ceph_, *entry);
}

absl::Status RbdPool::Images::Unmap(const pool::VolumeRecord& record) {
  // Of what has no record, none is ours; of a snapshot there is none.
  if (record.image_name.empty() || record.volume.role == VolumeRole::kSnapshot) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(unmapped_, pool_.FindDevice(record.volume.id.uuid));
  return unmapped_ ? pool_.Unmap(*unmapped_) : absl::OkStatus();
}

bool RbdPool::Space::WouldFitWithout(const std::vector<std::string>& names, Provisioning,
                                     Bytes increment) {
  Bytes sum = 0;
  for (const std::string& name : names) {
    const auto entry = pool_.common_->trash.Find(name);
    if (entry) sum += to_free_[name] = entry->allocated;
  }
  return pool_.RequireRoom(ceph_, increment - sum).ok();
}

void RbdPool::Space::Release(const std::string& name) {
  const auto found = to_free_.find(name);
  if (found != to_free_.end()) pool_.common_->freed.Add(found->second);
}

absl::StatusOr<std::unique_ptr<pool::Reservation>> RbdPool::Space::Reserve(const std::string&,
                                                                           Provisioning,
                                                                           Bytes increment) {
  RETURN_IF_ERROR(pool_.RequireRoom(ceph_, increment));
  return std::make_unique<NoReservation>();
}

}  // namespace holdfast::rbd
