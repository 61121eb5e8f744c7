// SPDX-License-Identifier: Apache-2.0
// Creation: reserve, record "allocating", make the bytes, record "ready". A copy is marked before
// that, so that a record which is older than it can be recognised.
//
// What a kill leaves after each step, and who cleans up (Repair, or a repeated call): a record
// "allocating", with or without bytes: removed, because CreateVolume never returned it; the same
// with a copy that is marked: completed, because the record may also be an old one of a copy that
// is in use; a record "ready" or "inherited": the volume, found again by its name.
//
// In a pool that several processes serve, another one may be completing the creation. Its record
// says when it began, and every step after it holds only if the record is still the same.
#include "core/clock.h"
#include "core/log.h"
#include "pool/volume_evidence.h"
#include "pool/volume_lifecycle.h"
#include "pool/volume_match.h"

namespace holdfast::pool {
namespace {

// Interfering earlier with another process's creation would not harm data, but both would have to
// begin again.
constexpr absl::Duration kMakingTime = absl::Seconds(3);

// Codes that leave open what was done; everything else was refused as a whole.
bool IsUncertain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsInternal(status);
}

// Another process was faster; the repeated call finds the volume that it made.
absl::Status AbortedIfExists(const absl::Status& status) {
  return absl::IsAlreadyExists(status) ? WithCode(status, absl::StatusCode::kAborted) : status;
}

}  // namespace

absl::StatusOr<VolumeRecord> VolumeLifecycle::Create(const VolumeSpec& spec, const VolumeId& id,
                                                     std::uint32_t sector_size) {
  absl::Status refused;
  if (records_.AreShared()) {
    // The insertion says whether there is a record: to ask first would cost every creation a round
    // trip.
    auto begun = Begin(spec, id, sector_size);
    if (begun.ok()) return Complete(*std::move(begun));
    if (absl::IsUnavailable(begun.status())) return begun.status();
    refused = begun.status();
  }
  // What is there counts more than why nothing new can be made: a repeated call finds its volume in
  // a full pool, too.
  const auto existing = records_.Read(id.uuid);
  if (existing.ok() && IsCompleteCopy(*existing)) {
    RETURN_IF_ERROR(RequireSame(existing->volume, spec));
    return FinishMarkedCopy(*existing);
  }
  if (existing.ok() && existing->volume.state == VolumeState::kCopying) {
    return ContinueCopy(*existing, spec);
  }
  if (existing.ok() && IsUsable(existing->volume.state)) return UseExisting(*existing, spec);
  if (existing.ok() && existing->volume.state == VolumeState::kCut) {
    RETURN_IF_ERROR(RequireSame(existing->volume, spec));
  }
  if (existing.ok()) {
    RETURN_IF_ERROR(RequireAbandoned(*existing));
    RETURN_IF_ERROR(RequireUnwanted(backend_, *existing));
    RETURN_IF_ERROR(FinishDeletion(*existing));
  } else if (!absl::IsNotFound(existing.status())) {
    return existing.status();
  } else if (!refused.ok()) {
    return AbortedIfExists(refused);
  } else {
    // A deletion of this name that was cut short must not take the room of its successor.
    RETURN_IF_ERROR(Forget(NoRecordOf(id.uuid)));
    const absl::Status purged = backend_.Purge(id.uuid);
    if (!purged.ok()) LogWarning("trash of volume {}: {}", id.uuid, MessageOf(purged));
  }
  auto begun = Begin(spec, id, sector_size);
  if (!begun.ok()) return AbortedIfExists(begun.status());
  return Complete(*std::move(begun));
}

VolumeRecord VolumeLifecycle::NewRecord(const VolumeSpec& spec, const std::string& uuid,
                                        Bytes capacity, std::uint32_t sector_size, absl::Time now) {
  return VolumeRecord{
      .volume = {.role = spec.role,
                 .id = {.pool = "", .node = "", .uuid = uuid},
                 .name = spec.name,
                 .capacity_bytes = capacity,
                 .provisioning = spec.provisioning,
                 .access_type = spec.access_type,
                 .state = VolumeState::kAllocating,
                 .filesystem = spec.filesystem,
                 .filesystem_uuid = "",
                 .mkfs_options = spec.mkfs_options,
                 .parameters = spec.parameters,
                 .created_at = Rfc3339(now),
                 .source = spec.source,
                 .inherited_uuids = {},
                 .held_at = spec.hold ? Rfc3339(now) : "",
                 .group = spec.group,
                 .requested_by = spec.requested_by,
                 .keep_deleted = spec.keep_deleted},
      .grow_to_bytes = 0,
      .sector_size = sector_size,
      .image_name = "",
      .image_id = "",
  };
}

absl::Status VolumeLifecycle::RequireAbandoned(const VolumeRecord& record) const {
  const Volume& volume = record.volume;
  if (!records_.AreShared() || volume.state != VolumeState::kAllocating ||
      absl::AbsDuration(AgeOf(volume, now_())) >= kMakingTime) {
    return absl::OkStatus();
  }
  return Aborted("volume {} is being made by another process, or was a moment ago; try again",
                 volume.id.uuid);
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::UseExisting(const VolumeRecord& record,
                                                          const VolumeSpec& spec) {
  RETURN_IF_ERROR(RequireSame(record.volume, spec));
  // An earlier call may have been killed, or failed, before its own syncs.
  const std::string& uuid = record.volume.id.uuid;
  RETURN_IF_ERROR(records_.SyncAll(uuid));
  // An earlier call may have made it and failed afterwards, having released its reservation.
  if (record.volume.role == VolumeRole::kSnapshot || !IsAccounted(record)) {
    RETURN_IF_ERROR(Account(record));
  }
  return record;
}

// Reserves the room and inserts the record. ALREADY_EXISTS if another process was faster.
absl::StatusOr<VolumeLifecycle::Begun> VolumeLifecycle::Begin(const VolumeSpec& spec,
                                                              const VolumeId& id,
                                                              std::uint32_t sector_size) {
  Begun begun;
  if (spec.content) {
    RETURN_IF_ERROR(PlanArrival(spec, id, begun));
  } else if (spec.source) {
    RETURN_IF_ERROR(PlanCopy(spec, id, begun));
  } else {
    ASSIGN_OR_RETURN(const Bytes capacity, ChooseCapacity(spec.capacity, spec.minimum_bytes));
    begun.record = NewRecord(spec, id.uuid, capacity, sector_size, now_());
  }
  const Volume& volume = begun.record.volume;
  Bytes promised = volume.capacity_bytes;
  if (begun.record.copy && volume.role == VolumeRole::kSnapshot) {
    promised = begun.record.copy->data_bytes;
  } else if (volume.role == VolumeRole::kSnapshot) {
    ASSIGN_OR_RETURN(promised, backend_.Occupied(*begun.source));
  }
  ASSIGN_OR_RETURN(begun.reservation, ReserveNew(id.uuid, volume.provisioning, promised));
  begun.record.image_name = backend_.NewName(begun.record, begun.source ? &*begun.source : nullptr);
  const absl::Status inserted = records_.Insert(begun.record);
  if (inserted.ok()) return begun;
  if (records_.AreShared()) return inserted;  // of this creation there is a record at most
  begun.reservation.reset();
  return UndoCreation(begun, inserted);
}

absl::Status VolumeLifecycle::PlanCopy(const VolumeSpec& spec, const VolumeId& id, Begun& begun) {
  ASSIGN_OR_RETURN(begun.source, ReadSource(spec));
  ASSIGN_OR_RETURN(auto plan, backend_.PlanCopy(*begun.source, spec.role));
  // It would change the source later, and the size of what copies all of it at once.
  if (begun.source->grow_to_bytes != 0 && (plan || records_.AreShared())) {
    RETURN_IF_ERROR(FinishEarlierGrowth(*begun.source));
    ASSIGN_OR_RETURN(plan, backend_.PlanCopy(*begun.source, spec.role));
  }
  ASSIGN_OR_RETURN(begun.record, NewCopyRecord(spec, id.uuid, *begun.source, now_()));
  begun.record.clone_depth = backend_.CloneDepth(*begun.source, spec.role);
  begun.record.copy = std::move(plan);
  return absl::OkStatus();
}

// The source as its record and its bytes have it now.
absl::StatusOr<VolumeRecord> VolumeLifecycle::ReadSource(const VolumeSpec& spec) {
  ASSIGN_OR_RETURN(VolumeRecord source, Get(spec.source->id, spec.source->role));
  RETURN_IF_ERROR(RequireComplete(source));
  Volume& volume = source.volume;
  if (volume.role == VolumeRole::kSnapshot || volume.access_type == AccessType::kBlock)
    return source;
  if (volume.state == VolumeState::kFormatting) {
    return FailedPrecondition(
        "the formatting of volume '{}' was interrupted, so there is nothing to copy yet; it is "
        "repeated when a pod uses the volume",
        spec.source->id.ToString());
  }
  if (volume.state != VolumeState::kReady) return source;
  // The record may be older than a filesystem that is there.
  ASSIGN_OR_RETURN(const std::string mark, backend_.ReadMark(source));
  if (!mark.empty()) {
    volume.state = VolumeState::kFormatted;
    volume.filesystem_uuid = mark;
  }
  return source;
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::Complete(Begun begun) {
  VolumeRecord& record = begun.record;
  if (const absl::Status filled = Fill(begun); !filled.ok()) {
    begun.reservation.reset();
    return UndoCreation(begun, filled);
  }
  const Volume& volume = record.volume;
  Bytes allocated = volume.provisioning == Provisioning::kThick ? volume.capacity_bytes : 0;
  if (begun.source) allocated = backend_.Allocated(record).value_or(0);
  space_.Set(volume.id.uuid, volume.provisioning, Promised(record).value_or(volume.capacity_bytes),
             allocated);
  begun.reservation->Commit();
  return record.copy ? BeginCopying(record) : record;
}

absl::Status VolumeLifecycle::Fill(Begun& begun) {
  VolumeRecord& record = begun.record;
  ASSIGN_OR_RETURN(const std::string image_id, MakeBytes(begun));
  if (begun.source && !record.copy) {
    begun.marked = true;
    RETURN_IF_ERROR(backend_.MarkCopied(record));
  }
  const VolumeRecord allocating = record;
  record.volume.state = record.copy ? VolumeState::kCopying : FirstStateOf(record.volume);
  record.image_id = image_id;
  RETURN_IF_ERROR(records_.Replace(allocating, record));
  return records_.SyncName();  // before the CO gets its answer
}

absl::StatusOr<std::string> VolumeLifecycle::MakeBytes(const Begun& begun) {
  const VolumeRecord& record = begun.record;
  const auto make = [&] {
    return begun.source ? backend_.Copy(*begun.source, record) : backend_.Make(record);
  };
  auto made = make();
  if (!absl::IsAlreadyExists(made.status())) return made;
  RETURN_IF_ERROR(RequireUnwanted(backend_, record));
  RETURN_IF_ERROR(backend_.RemoveUnfinished(record));
  return make();
}

absl::Status VolumeLifecycle::UndoCreation(const Begun& begun, const absl::Status& cause) {
  VolumeRecord record = begun.record;
  record.volume.state = VolumeState::kAllocating;  // CreateVolume fails, so the CO does not know it
  record.image_id.clear();
  if (records_.AreShared() && IsUncertain(cause)) {
    if (!absl::IsUnavailable(cause)) RemoveUnnamed(record);
    return WithCode(cause, absl::StatusCode::kUnavailable);  // the record may be left: repeat it
  }
  // Of a copy that this call itself has marked nobody knows.
  absl::Status removed = begun.marked ? absl::OkStatus() : RequireUnwanted(backend_, record);
  if (removed.ok()) removed = FinishDeletion(record);
  if (removed.ok()) return cause;
  AccountStored(record.volume.id.uuid);
  return Unavailable("{}; and what was made could not be removed yet: {}", MessageOf(cause),
                     MessageOf(removed));
}

// Another process may have given the volume up while this one made its bytes, and may have looked
// for them already. A record that does not name them will never do so again, and a tombstone names
// what may go.
void VolumeLifecycle::RemoveUnnamed(const VolumeRecord& record) {
  const auto stored = records_.Read(record.volume.id.uuid);
  if (!stored.ok() && !absl::IsNotFound(stored.status())) return;
  if (stored.ok() && stored->image_name == record.image_name &&
      stored->volume.state != VolumeState::kDeleting) {
    return;
  }
  const absl::Status removed = backend_.Discard(record);
  if (!removed.ok()) LogWarning("image '{}' is left: {}", record.image_name, MessageOf(removed));
}

}  // namespace holdfast::pool
