// SPDX-License-Identifier: Apache-2.0
// The steps around formatting, which node/format_once.h takes: each only from its state, and none
// against what is noted with the bytes.
#include "pool/volume_lifecycle.h"

namespace holdfast::pool {
namespace {

// ready or formatting -> formatting with that UUID.
absl::Status EnterFormatting(VolumeRecord& record, const std::string& filesystem_uuid) {
  if (record.volume.state != VolumeState::kReady &&
      record.volume.state != VolumeState::kFormatting) {
    return FailedPrecondition("volume '{}' is {}: it is never formatted again",
                              record.volume.id.uuid, ToString(record.volume.state));
  }
  record.volume.state = VolumeState::kFormatting;
  record.volume.filesystem_uuid = filesystem_uuid;
  return absl::OkStatus();
}

// formatting -> formatted.
absl::Status LeaveFormatting(VolumeRecord& record) {
  if (record.volume.state != VolumeState::kFormatting) {
    return FailedPrecondition("volume '{}' is {}, not formatting", record.volume.id.uuid,
                              ToString(record.volume.state));
  }
  record.volume.state = VolumeState::kFormatted;
  return absl::OkStatus();
}

// Only in state formatting no data can exist.
absl::Status RequireBlankable(const VolumeRecord& record) {
  if (record.volume.state == VolumeState::kFormatting) return absl::OkStatus();
  return FailedPrecondition("volume '{}' is {}: its bytes must not be changed",
                            record.volume.id.uuid, ToString(record.volume.state));
}

}  // namespace

absl::Status VolumeLifecycle::StartFormatting(const VolumeId& id,
                                              const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(const VolumeRecord present, Get(id));
  RETURN_IF_ERROR(backend_.RequireHeldHere(present));
  VolumeRecord record = present;
  RETURN_IF_ERROR(EnterFormatting(record, filesystem_uuid));
  ASSIGN_OR_RETURN(const std::string mark, backend_.ReadMark(record));
  if (!mark.empty() && mark != filesystem_uuid) {
    return FailedPrecondition(
        "the image of volume '{}' was formatted with UUID {}: it is never formatted again",
        id.ToString(), mark);
  }
  return records_.Replace(present, record);
}

absl::Status VolumeLifecycle::FinishFormatting(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VolumeRecord present, Get(id));
  RETURN_IF_ERROR(backend_.RequireHeldHere(present));
  VolumeRecord record = present;
  RETURN_IF_ERROR(LeaveFormatting(record));
  // Before the record: a kill in between leaves one that is brought up to date by the next stage.
  RETURN_IF_ERROR(backend_.Mark(record));
  return records_.Replace(present, record);
}

absl::StatusOr<std::string> VolumeLifecycle::FormattedUuid(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VolumeRecord record, Get(id));
  return backend_.ReadMark(record);
}

absl::Status VolumeLifecycle::Zero(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VolumeRecord record, Get(id));
  RETURN_IF_ERROR(RequireBlankable(record));
  RETURN_IF_ERROR(backend_.RequireHeldHere(record));
  ASSIGN_OR_RETURN(const std::string mark, backend_.ReadMark(record));
  if (!mark.empty()) {
    return FailedPrecondition("the image holds a filesystem, UUID {}: it is not made blank", mark);
  }
  return backend_.Zero(record);
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::TakeOver(const VolumeId& id,
                                                       const std::string& filesystem,
                                                       const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(const VolumeRecord present, Get(id));
  RETURN_IF_ERROR(backend_.RequireHeldHere(present));
  VolumeRecord record = present;
  Volume& volume = record.volume;
  if (volume.access_type != AccessType::kBlock || volume.state != VolumeState::kReady) {
    return FailedPrecondition("volume '{}' is a {} volume in state {}, not raw block",
                              id.ToString(), ToString(volume.access_type), ToString(volume.state));
  }
  volume.access_type = AccessType::kMount;
  volume.state = VolumeState::kInherited;
  volume.filesystem = filesystem;
  volume.filesystem_uuid = RandomUuid();
  volume.inherited_uuids = {filesystem_uuid};
  RETURN_IF_ERROR(records_.Replace(present, record));
  return record;
}

absl::Status VolumeLifecycle::FinishAdoption(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VolumeRecord present, Get(id));
  RETURN_IF_ERROR(backend_.RequireHeldHere(present));
  if (present.volume.state != VolumeState::kInherited) {
    return FailedPrecondition("volume '{}' is {}, not inherited", id.ToString(),
                              ToString(present.volume.state));
  }
  VolumeRecord record = present;
  record.volume.state = VolumeState::kFormatted;
  // Before the record, as after formatting.
  RETURN_IF_ERROR(backend_.Mark(record));
  return records_.Replace(present, record);
}

}  // namespace holdfast::pool
