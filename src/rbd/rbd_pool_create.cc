// SPDX-License-Identifier: Apache-2.0
// Creation: record "allocating" with the name of the image to be, make the image, record "ready"
// with the image's id.
//
// What a kill leaves after each step, and who cleans up: a record "allocating", with or without an
// image. A CreateVolume of the same kind that is repeated after kMakingTime carries on from there,
// one of another kind undoes it first, Repair undoes it when nobody repeats; until then no call
// sees the volume.
#include "core/log.h"
#include "pool/volume_match.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

constexpr std::uint32_t kSectorSize = 512;  // of krbd's devices

// A record without an image that is younger is taken for one that another controller is just
// completing. To interfere would do no harm to data, but both would have to begin again.
constexpr absl::Duration kMakingTime = absl::Seconds(3);

// Codes that leave open what was done; everything else was refused as a whole.
bool IsUncertain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsInternal(status);
}

// Another process was faster; the repetition finds what it makes.
absl::StatusOr<RecordEntry> AbortedIfExists(absl::StatusOr<RecordEntry> begun) {
  if (!absl::IsAlreadyExists(begun.status())) return begun;
  return WithCode(begun.status(), absl::StatusCode::kAborted);
}

absl::Status BeingMade(const std::string& uuid) {
  return Aborted("volume {} is being made by another process, or was a moment ago; try again",
                 uuid);
}

}  // namespace

absl::StatusOr<Volume> RbdPool::Create(const VolumeSpec& spec) {
  if (spec.provisioning == Provisioning::kThick) {
    return InvalidArgument(
        "pool '{}' cannot make thick volumes: Ceph allocates when written; give the class the "
        "parameter provisioning: thin",
        info_.name);
  }
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  const std::string uuid = IdForName(spec.name).uuid;
  auto begun = BeginCreation(*ceph, spec, uuid);
  if (begun.ok()) return FillNewVolume(*ceph, *begun);
  if (absl::IsUnavailable(begun.status())) return begun.status();
  // What is there counts more than why nothing new can be made: a repeated call finds its volume
  // in a full pool, too.
  auto entry = RecordTable::Read(*ceph, uuid);
  if (absl::IsNotFound(entry.status())) return AbortedIfExists(std::move(begun)).status();
  RETURN_IF_ERROR(entry.status());
  const Volume& present = entry->record.volume;
  const absl::Status same = pool::RequireSame(present, spec);
  if (pool::IsUsable(present.state)) {
    RETURN_IF_ERROR(same);
    return WithPool(present);
  }
  if (present.state == VolumeState::kAllocating) {
    if (absl::AbsDuration(pool::AgeOf(present)) < kMakingTime) return BeingMade(uuid);
    RETURN_IF_ERROR(RequireRemovable(*ceph, entry->record));
    if (same.ok()) return FillNewVolume(*ceph, *entry);
  }
  RETURN_IF_ERROR(WriteTombstone(*ceph, *entry));
  RETURN_IF_ERROR(FinishDeletion(*ceph, *entry));
  ASSIGN_OR_RETURN(auto anew, AbortedIfExists(BeginCreation(*ceph, spec, uuid)));
  return FillNewVolume(*ceph, anew);
}

// ALREADY_EXISTS if there is a record. That is the question whether there is one, too: to ask
// first would cost every creation a round trip.
absl::StatusOr<RecordEntry> RbdPool::BeginCreation(const CephPool& ceph, const VolumeSpec& spec,
                                                   const std::string& uuid) {
  ASSIGN_OR_RETURN(const Bytes capacity,
                   ChooseCapacity(spec.required_bytes, spec.limit_bytes, spec.minimum_bytes));
  RETURN_IF_ERROR(RequireRoom(ceph, capacity));
  pool::VolumeRecord record = pool::NewRecord(spec, uuid, capacity, kSectorSize);
  record.image_name = NewImageName(uuid);
  return RecordTable::Insert(ceph, record);
}

absl::StatusOr<Volume> RbdPool::FillNewVolume(const CephPool& ceph, RecordEntry& entry) {
  auto filled = TryToFill(ceph, entry);
  const absl::Status& status = filled.status();
  if (status.ok() || absl::IsUnavailable(status)) return filled;
  RemoveUnnamed(ceph, entry);
  // The record may still be there: the caller is to repeat it.
  if (IsUncertain(status)) return WithCode(status, absl::StatusCode::kUnavailable);
  return filled;
}

absl::StatusOr<Volume> RbdPool::TryToFill(const CephPool& ceph, RecordEntry& entry) {
  const absl::Status made = MakeOwnImage(ceph, entry);
  if (!made.ok()) {
    if (IsUncertain(made)) return made;
    absl::Status removed = WriteTombstone(ceph, entry);
    if (removed.ok()) removed = FinishDeletion(ceph, entry);
    if (removed.ok()) return made;
    return Unavailable("{}; and what was made could not be removed yet: {}", MessageOf(made),
                       MessageOf(removed));
  }
  const std::string& name = entry.record.image_name;
  ASSIGN_OR_RETURN(const auto id, ReadImageId(ceph, name));
  if (!id) return Aborted("image '{}' went away while it was made; try again", name);
  pool::VolumeRecord record = entry.record;
  record.image_id = *id;
  record.volume.state = VolumeState::kReady;
  RETURN_IF_ERROR(RecordTable::Replace(ceph, entry, record, /*as_holder=*/false));
  return WithPool(entry.record.volume);
}

// Another process may have given the volume up while this one made its image. A record that does
// not name the image will never do so again.
void RbdPool::RemoveUnnamed(const CephPool& ceph, const RecordEntry& entry) {
  const std::string& name = entry.record.image_name;
  const auto now = RecordTable::Read(ceph, entry.record.volume.id.uuid);
  const bool unnamed = now.ok() ? now->record.image_name != name : absl::IsNotFound(now.status());
  if (!unnamed) return;
  const absl::Status removed = RemoveImageOf(ceph, entry.record);
  if (!removed.ok()) LogWarning("image '{}' is left: {}", name, MessageOf(removed));
}

// Only the call that has made an image knows that it has all its parts: a kill may have left it
// without its object map, which does not show when it is opened to be read. And one that stopped in
// the middle cannot be told from one that another process is just making. So an image that is there
// already is given up, under its name, before it is removed: whoever is making it finds the record
// changed.
absl::Status RbdPool::MakeOwnImage(const CephPool& ceph, RecordEntry& entry) {
  const Bytes size = entry.record.volume.capacity_bytes;
  const pool::VolumeRecord given_up = entry.record;
  const absl::Status made = MakeImage(ceph, given_up.image_name, size, access_.data_pool);
  if (!absl::IsAlreadyExists(made)) return made;
  RETURN_IF_ERROR(RequireRemovable(ceph, given_up));
  pool::VolumeRecord record = given_up;
  record.image_name = NewImageName(record.volume.id.uuid);
  RETURN_IF_ERROR(RecordTable::Replace(ceph, entry, record, /*as_holder=*/false));
  RETURN_IF_ERROR(RemoveImageOf(ceph, given_up));
  return MakeImage(ceph, record.image_name, size, access_.data_pool);
}

}  // namespace holdfast::rbd
