// SPDX-License-Identifier: Apache-2.0
// Creation: record "allocating", make the image, record "ready" with the image's id.
//
// What a kill leaves after each step, and who cleans up: a record "allocating", with or without an
// image. A repeated CreateVolume of the same kind carries on from there, one of another kind undoes
// it first; until then no call sees the volume.
#include "pool/volume_match.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

constexpr std::uint32_t kSectorSize = 512;  // of krbd's devices

// Codes that leave open what was done; everything else was refused as a whole.
bool IsUncertain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsInternal(status);
}

// Before there is a record no image of that name is ours: its bytes must neither become a new
// volume's nor be removed with it.
absl::Status RequireNoImage(const CephPool& ceph, const std::string& uuid) {
  const std::string name = ImageName(uuid);
  ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, name));
  if (!facts) return absl::OkStatus();
  return FailedPrecondition(
      "image '{}' is in Ceph pool '{}' without a record: it is left alone; rename or remove it",
      name, ceph.pool_name());
}

}  // namespace

absl::StatusOr<Volume> RbdPool::Create(const VolumeSpec& spec) {
  if (spec.provisioning == Provisioning::kThick) {
    return InvalidArgument(
        "pool '{}' cannot make thick volumes: Ceph allocates when written; give the class the "
        "parameter provisioning: thin",
        info_.name);
  }
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  const std::string uuid = IdOf(spec.name).uuid;
  auto entry = Journal::Read(*ceph, uuid);
  if (entry.ok()) {
    const Volume& present = entry->record.volume;
    const absl::Status same = pool::RequireSame(present, spec);
    if (present.state != VolumeState::kAllocating && present.state != VolumeState::kDeleting) {
      RETURN_IF_ERROR(same);
      return WithPool(present);
    }
    if (present.state == VolumeState::kAllocating && same.ok()) return FillNewVolume(*ceph, *entry);
    RETURN_IF_ERROR(FinishDeletion(*ceph, *entry));
  } else if (!absl::IsNotFound(entry.status())) {
    return entry.status();
  }
  ASSIGN_OR_RETURN(const Bytes capacity,
                   ChooseCapacity(spec.required_bytes, spec.limit_bytes, spec.minimum_bytes));
  RETURN_IF_ERROR(RequireRoom(*ceph, capacity));
  RETURN_IF_ERROR(RequireNoImage(*ceph, uuid));
  entry = Journal::Insert(*ceph, pool::NewRecord(spec, uuid, capacity, kSectorSize));
  // Another process was faster; the repetition finds what it makes.
  if (absl::IsAlreadyExists(entry.status())) {
    return WithCode(entry.status(), absl::StatusCode::kAborted);
  }
  RETURN_IF_ERROR(entry.status());
  return FillNewVolume(*ceph, *entry);
}

absl::StatusOr<Volume> RbdPool::FillNewVolume(const CephPool& ceph, JournalEntry& entry) {
  const std::string name = ImageName(entry.record.volume.id.uuid);
  const absl::Status made =
      MakeImage(ceph, name, entry.record.volume.capacity_bytes, access_.data_pool);
  if (absl::IsAlreadyExists(made)) {
    // Ours would have this size, so it is somebody else's.
    RETURN_IF_ERROR(Journal::Remove(ceph, entry));
    return WithCode(made, absl::StatusCode::kFailedPrecondition);
  }
  if (!made.ok()) {
    if (IsUncertain(made)) return WithCode(made, absl::StatusCode::kUnavailable);
    const absl::Status removed = FinishDeletion(ceph, entry);
    if (removed.ok()) return made;
    return Unavailable("{}; and what was made could not be removed yet: {}", MessageOf(made),
                       MessageOf(removed));
  }
  ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, name));
  if (!facts) return Unavailable("image '{}' went away while it was made; try again", name);
  pool::VolumeRecord record = entry.record;
  record.image_id = facts->id;
  record.volume.state = VolumeState::kReady;
  RETURN_IF_ERROR(Journal::Replace(ceph, entry, record, /*as_holder=*/false));
  return WithPool(entry.record.volume);
}

}  // namespace holdfast::rbd
