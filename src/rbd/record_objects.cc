// SPDX-License-Identifier: Apache-2.0
#include "rbd/record_objects.h"

#include <cerrno>

#include "rbd/image_name.h"

namespace holdfast::rbd {

std::string RecordObject(char first_digit) {
  return fmt::format("holdfast.volumes.{}", first_digit);
}

std::string NodesKey(const std::string& uuid) { return uuid + "/nodes"; }

absl::Status ChangedMeanwhile(const std::string& uuid) {
  return Aborted("volume {} was changed by another process meanwhile; try again", uuid);
}

absl::Status ChangeRecords(const CephPool& pool, const std::string& uuid, const OmapChange& change,
                           const std::string& what) {
  const CallResult result =
      ChangeOmap(pool, RecordObjectOf(uuid), change, fmt::format("{} volume {}", what, uuid));
  return result.error == ECANCELED ? ChangedMeanwhile(uuid) : result.status;
}

absl::StatusOr<pool::VolumeRecord> DecodeRecordOf(const std::string& uuid,
                                                  const std::string& text) {
  auto record = pool::DecodeRecord(text);
  if (!record.ok()) return Annotate(record.status(), fmt::format("volume {}", uuid));
  if (record->volume.id.uuid != uuid) {
    return Internal("the record of volume {} is that of {}", uuid, record->volume.id.uuid);
  }
  // Nodes may write records, and no images' names: an image of that name is the volume's.
  const bool snapshot = record->volume.role == VolumeRole::kSnapshot;
  if (UuidOfBytes(record->image_name) == uuid &&
      ParseSnapshotName(record->image_name).has_value() == snapshot) {
    return record;
  }
  return Internal("the record of volume {} is damaged: it names image '{}', which is not its own",
                  uuid, record->image_name);
}

}  // namespace holdfast::rbd
