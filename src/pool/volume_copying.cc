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
  ContentSource self = *copy.volume.source;
  self.role = copy.volume.role;
  self.id.uuid = copy.volume.id.uuid;
  // A record does not say in which pool it is, only that its source is in the same one.
  const std::string id = copy.copy->from_elsewhere() ? self.id.uuid : self.ToString();
  return Aborted("{} '{}' is being copied to {} '{}', which is at {} of {}; try again",
                 ToString(copy.volume.source->role), copy.volume.source->ToString(),
                 ToString(self.role), id, FormatBytes(copy.copy->copied_to),
                 FormatBytes(copy.volume.capacity_bytes));
}

// Whether a caller knows of it before it is complete.
bool IsGiven(const Volume& copy) { return copy.role == VolumeRole::kSnapshot && !copy.held(); }

bool MayContinue(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

}  // namespace

absl::StatusOr<VolumeRecord> VolumeLifecycle::SourceOfCopy(const VolumeRecord& record) {
  if (record.copy->source_version.empty()) return record;
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
  if (!copied.ok() && !IsGiven(record.volume) && !MayContinue(copied.status())) {
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

// What is void and was not given to any caller is made again by a later call.
absl::StatusOr<bool> VolumeLifecycle::RepairCopy(const VolumeRecord& record) {
  const auto copied = CopyOn(record);
  const bool is_void = absl::IsFailedPrecondition(copied.status());
  if (!is_void || IsGiven(record.volume)) {
    RETURN_IF_ERROR(copied.status());
    return !copied->copy;
  }
  VolumeRecord unwanted = record;
  RETURN_IF_ERROR(WriteTombstone(unwanted));
  RETURN_IF_ERROR(FinishDeletion(unwanted));
  return true;
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
