// SPDX-License-Identifier: Apache-2.0
// Copies whose source is in another pool, perhaps on another node: record "allocating", make the
// room, record "copying", and then whoever brings the bytes records how far they have come, and in
// the end marks them as complete and records "ready" or "inherited".
//
// No call has returned such a volume, so the CO asks for it again and again. When it has not for
// some time, it has given the volume up, and the reconciler removes it.
#include "core/clock.h"
#include "pool/volume_lifecycle.h"
#include "pool/volume_match.h"

namespace holdfast::pool {
namespace {

absl::Status NotWaiting(const VolumeId& id) {
  return Aborted("volume {} is not waiting for these bytes any more", id.uuid);
}

VolumeRecord SourceOf(const Content& content) {
  VolumeRecord source;
  source.volume.role = VolumeRole::kSnapshot;
  source.volume.capacity_bytes = content.capacity_bytes;
  source.volume.access_type = content.access_type;
  source.volume.filesystem = content.filesystem;
  source.volume.inherited_uuids = content.inherited_uuids;
  source.sector_size = content.sector_size;
  return source;
}

}  // namespace

absl::StatusOr<VolumeRecord> VolumeLifecycle::GetContent(const VolumeId& id) {
  ASSIGN_OR_RETURN(VolumeRecord record, Get(id, VolumeRole::kSnapshot));
  RETURN_IF_ERROR(RequireComplete(record));
  return record;
}

absl::Status VolumeLifecycle::PlanArrival(const VolumeSpec& spec, const VolumeId& id,
                                          Begun& begun) {
  ASSIGN_OR_RETURN(begun.record, NewCopyRecord(spec, id.uuid, SourceOf(*spec.content), now_()));
  begun.record.copy = CopyProgress{.data_bytes = spec.content->data_bytes,
                                   .copied_to = 0,
                                   .source_version = spec.content->version,
                                   .wanted_at = Rfc3339(now_()),
                                   .arrival = RandomUuid()};
  return absl::OkStatus();
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::ContinueArrival(const VolumeRecord& record,
                                                              const VolumeSpec& spec) {
  if (spec.content && spec.content->version != record.copy->source_version) {
    return UndoCopy(record, Aborted("the content source is another one than before; try again"));
  }
  if (IsDueAgain(record.copy->wanted_at, now_())) {
    VolumeRecord next = record;
    next.copy->wanted_at = Rfc3339(now_());
    RETURN_IF_ERROR(records_.Replace(record, next));
  }
  return AnswerOf(record);
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::GetArriving(const VolumeId& id,
                                                          const std::string& version) {
  auto record = records_.Read(id.uuid);
  if (absl::IsNotFound(record.status())) return NotWaiting(id);
  RETURN_IF_ERROR(record.status());
  const bool arriving = record->volume.state == VolumeState::kCopying &&
                        record->copy->from_elsewhere() && record->copy->source_version == version;
  if (!arriving) return NotWaiting(id);
  return record;
}

// The same name and the same source do not make it the same image: it may have been deleted and
// made again.
absl::StatusOr<VolumeRecord> VolumeLifecycle::GetArrival(const VolumeId& id,
                                                         const std::string& arrival) {
  auto record = records_.Read(id.uuid);
  if (absl::IsNotFound(record.status())) return NotWaiting(id);
  RETURN_IF_ERROR(record.status());
  const bool same = record->volume.state == VolumeState::kCopying &&
                    record->copy->from_elsewhere() && record->copy->arrival == arrival;
  if (!same) return NotWaiting(id);
  return record;
}

absl::Status VolumeLifecycle::NoteArrived(const VolumeId& id, const std::string& arrival,
                                          Bytes to) {
  ASSIGN_OR_RETURN(const VolumeRecord record, GetArrival(id, arrival));
  VolumeRecord next = record;
  next.copy->copied_to = to;
  next.copy->wanted_at = Rfc3339(now_());
  RETURN_IF_ERROR(records_.Replace(record, next));
  return Account(next);
}

absl::Status VolumeLifecycle::FinishArrival(const VolumeId& id, const std::string& arrival) {
  ASSIGN_OR_RETURN(const VolumeRecord record, GetArrival(id, arrival));
  RETURN_IF_ERROR(backend_.MarkCopied(record));
  return FinishCopy(record).status();
}

}  // namespace holdfast::pool
