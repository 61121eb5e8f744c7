// SPDX-License-Identifier: Apache-2.0
#include "pool/volume_evidence.h"

#include <algorithm>

namespace holdfast::pool {
namespace {

absl::Status RecordIsOlder(std::string_view record_says, std::string_view image_says) {
  return FailedPrecondition(
      "its record says that {}, but {}: the record is older than the image, which is left alone; "
      "restore a newer record, or see 'A record that is older than its image' in "
      "docs/operations.md",
      record_says, image_says);
}

absl::Status RequireNeverUsed(VolumeBytes& bytes, const VolumeRecord& record) {
  constexpr std::string_view kSays = "its creation was not completed";
  ASSIGN_OR_RETURN(const bool copied, bytes.IsMarkedCopied(record));
  if (copied) return RecordIsOlder(kSays, "its image is a complete copy");
  ASSIGN_OR_RETURN(const std::string mark, bytes.ReadMark(record));
  if (!mark.empty()) return RecordIsOlder(kSays, "its image was formatted");
  if (record.volume.source) return absl::OkStatus();  // a part of the copy
  ASSIGN_OR_RETURN(const bool data, bytes.HoldData(record, 0));
  return data ? RecordIsOlder(kSays, "its image holds data") : absl::OkStatus();
}

// A tombstone names the filesystem of the volume that was deleted.
absl::Status RequireFilesystemOf(VolumeBytes& bytes, const VolumeRecord& record) {
  ASSIGN_OR_RETURN(const std::string mark, bytes.ReadMark(record));
  if (mark.empty() || mark == record.volume.filesystem_uuid) return absl::OkStatus();
  return RecordIsOlder("it is to be deleted with another filesystem",
                       fmt::format("its image was formatted with UUID {}", mark));
}

}  // namespace

absl::Status RequireUnwanted(VolumeBytes& bytes, const VolumeRecord& record) {
  if (IsUsable(record.volume.state)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool exist, bytes.Exist(record));
  if (!exist) return absl::OkStatus();
  const bool unfinished =
      record.volume.state == VolumeState::kAllocating || record.volume.state == VolumeState::kCut;
  return Annotate(unfinished ? RequireNeverUsed(bytes, record) : RequireFilesystemOf(bytes, record),
                  fmt::format("volume {}", record.volume.id.uuid));
}

absl::Status RequireSize(VolumeBytes& bytes, const VolumeRecord& record) {
  ASSIGN_OR_RETURN(const Bytes size, bytes.Size(record));
  return RequireSize(size, record);
}

absl::Status RequireSize(Bytes size, const VolumeRecord& record) {
  const Bytes least = record.volume.capacity_bytes;
  const Bytes most = std::max(least, record.grow_to_bytes);  // a growth may have begun
  if (least <= size && size <= most) return absl::OkStatus();
  if (size > most) {
    return FailedPrecondition(
        "the image of volume {} has {} bytes, its record says {}: the record is older than the "
        "image; keep the image and restore a newer record, or see 'A record that is older than its "
        "image' in docs/operations.md",
        record.volume.id.uuid, size, most);
  }
  return FailedPrecondition(
      "the image of volume {} has {} bytes, its record says {}: it was truncated or replaced; "
      "restore it from a backup",
      record.volume.id.uuid, size, least);
}

}  // namespace holdfast::pool
