// SPDX-License-Identifier: Apache-2.0
#include "pool/format_state.h"

namespace holdfast::pool {

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

absl::Status LeaveFormatting(VolumeRecord& record) {
  if (record.volume.state != VolumeState::kFormatting) {
    return FailedPrecondition("volume '{}' is {}, not formatting", record.volume.id.uuid,
                              ToString(record.volume.state));
  }
  record.volume.state = VolumeState::kFormatted;
  return absl::OkStatus();
}

absl::Status RequireBlankable(const VolumeRecord& record) {
  if (record.volume.state == VolumeState::kFormatting) return absl::OkStatus();
  return FailedPrecondition("volume '{}' is {}: its bytes are not to be touched",
                            record.volume.id.uuid, ToString(record.volume.state));
}

}  // namespace holdfast::pool
