// SPDX-License-Identifier: Apache-2.0
// Copies that are made in steps, because the storage cannot share blocks (docs/adr/0026): record
// "allocating", make the room, record "copying", copy and record how far it came as often as it
// takes, mark the copy as complete, record "ready" or "inherited".
//
// Until then the source is neither mapped nor grown nor deleted. A kill leaves the last recorded
// progress, and the reconciler or a repeated call continues from there, after it has proved that
// the source is still the same. A copy whose source has changed is void: a volume is removed,
// because CreateVolume never returned it, and a snapshot stays until it is deleted.
#include "pool/volume_lifecycle.h"
#include "pool/volume_match.h"

namespace holdfast::pool {
namespace {

// What is under way, for people.
absl::Status StillCopying(const VolumeRecord& copy) {
  ContentSource self = *copy.volume.source;  // in the same pool
  self.role = copy.volume.role;
  self.id.uuid = copy.volume.id.uuid;
  return Aborted("{} '{}' is being copied to {} '{}', which is at {} of {}; try again",
                 ToString(copy.volume.source->role), copy.volume.source->ToString(),
                 ToString(self.role), self.ToString(), FormatBytes(copy.copy->copied_to),
                 FormatBytes(copy.volume.capacity_bytes));
}

bool MayContinue(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

}  // namespace

absl::StatusOr<VolumeRecord> VolumeLifecycle::SourceOfCopy(const VolumeRecord& record) {
  const ContentSource& source = *record.volume.source;
  auto found = Get(source.id, source.role);
  if (!absl::IsNotFound(found.status())) return found;
  return FailedPrecondition("the copy cannot be completed, because its source is gone: {}",
                            MessageOf(found.status()));
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::CopyOn(const VolumeRecord& record) {
  ASSIGN_OR_RETURN(const VolumeRecord source, SourceOfCopy(record));
  VolumeRecord next = record;
  ASSIGN_OR_RETURN(next.copy->copied_to, backend_.CopyOn(source, record));
  if (next.copy->copied_to < source.volume.capacity_bytes) {
    RETURN_IF_ERROR(records_.Replace(record, next));
    RETURN_IF_ERROR(Account(next));
    return next;
  }
  RETURN_IF_ERROR(backend_.MarkCopied(record));
  return FinishCopy(record);
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::ContinueCopy(const VolumeRecord& record,
                                                           const VolumeSpec& spec) {
  RETURN_IF_ERROR(RequireSame(record.volume, spec));
  RETURN_IF_ERROR(records_.SyncAll(record.volume.id.uuid));
  if (!IsAccounted(record)) RETURN_IF_ERROR(Account(record));
  if (record.copy->from_elsewhere()) return ContinueArrival(record, spec);
  auto copied = CopyOn(record);
  const bool given = record.volume.role == VolumeRole::kSnapshot;
  if (!copied.ok() && !given && !MayContinue(copied.status())) {
    return UndoCopy(record, copied.status());
  }
  RETURN_IF_ERROR(copied.status());
  return AnswerOf(*copied);
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::BeginCopying(const VolumeRecord& record) {
  if (record.copy->from_elsewhere()) return AnswerOf(record);
  auto copied = CopyOn(record);
  if (!copied.ok()) return UndoCopy(record, copied.status());
  return AnswerOf(*copied);
}

// No caller knows of the copy.
absl::Status VolumeLifecycle::UndoCopy(VolumeRecord record, const absl::Status& cause) {
  absl::Status removed = WriteTombstone(record);
  if (removed.ok()) removed = FinishDeletion(record);
  if (removed.ok()) return cause;
  return Unavailable("{}; and what was made could not be removed yet: {}", MessageOf(cause),
                     MessageOf(removed));
}

// A snapshot is there as soon as it was cut. A volume is when it can be used.
absl::StatusOr<VolumeRecord> VolumeLifecycle::AnswerOf(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  if (volume.state != VolumeState::kCopying || volume.role == VolumeRole::kSnapshot) return record;
  return StillCopying(record);
}

absl::Status VolumeLifecycle::RequireComplete(const VolumeRecord& source) {
  return source.volume.state == VolumeState::kCopying ? StillCopying(source) : absl::OkStatus();
}

absl::Status VolumeLifecycle::RequireNotBeingCopied(const VolumeRecord& record,
                                                    const VolumeId& id) {
  const ContentSource self{record.volume.role, id};
  for (const std::string& uuid : records_.CopiesUnderWay(self)) {
    const auto copy = records_.Read(uuid);
    if (!copy.ok() || copy->volume.state != VolumeState::kCopying) continue;
    // One that is void keeps nobody waiting.
    if (absl::IsFailedPrecondition(backend_.RequireUnchanged(record, *copy))) continue;
    return StillCopying(*copy);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::pool
