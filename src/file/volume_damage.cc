// SPDX-License-Identifier: Apache-2.0
#include "file/volume_damage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/disk_names.h"
#include "file/file_volumes.h"
#include "file/image_file.h"
#include "file/pool_directory.h"
#include "file/record_store.h"
#include "os/file.h"
#include "pool/volume_evidence.h"

namespace holdfast::file {
namespace {

constexpr char kRestoreRecord[] =
    "restore its record.json from a backup; without one, copy the data out of the image and remove "
    "the directory by hand";
constexpr char kRestoreImage[] = "restore its image from a backup, or delete the volume";
constexpr char kRecordIsOld[] =
    "keep the image and restore a newer record.json from a backup; without one, see 'A record that "
    "is older than its image' in docs/operations.md";

VolumeDamage DamagedImage(const pool::VolumeRecord& record, std::string problem) {
  return {record.volume.id.uuid, std::move(problem), kRestoreImage};
}

// Appends what is wrong with the image of a usable volume.
void ExamineImage(int volumes_fd, const pool::VolumeRecord& record,
                  std::vector<VolumeDamage>& damage) {
  const std::string path = fmt::format("{}/{}", record.volume.id.uuid, kImageName);
  struct stat facts {};
  if (::fstatat(volumes_fd, path.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    damage.push_back(
        DamagedImage(record, errno == ENOENT ? "its image is missing"
                                             : MessageOf(OsError(errno, "cannot stat its image"))));
    return;
  }
  if (!S_ISREG(facts.st_mode)) {
    damage.push_back(DamagedImage(record, "its image is not a regular file"));
    return;
  }
  const Bytes least = record.volume.capacity_bytes;
  const Bytes most = std::max(least, record.grow_to_bytes);  // a growth may be under way
  if (least <= facts.st_size && facts.st_size <= most) return;
  if (facts.st_size > most) {
    damage.push_back({record.volume.id.uuid,
                      fmt::format("its image has {} bytes, its record says {}: the record is older "
                                  "than the image",
                                  facts.st_size, most),
                      kRecordIsOld});
    return;
  }
  damage.push_back(DamagedImage(
      record, fmt::format("its image has {} bytes, its record says {}", facts.st_size, least)));
}

// OK unless the image shows that the record is an old one: it records less than was done with the
// volume. A stage that is under way looks the same, so the caller reads the record again.
absl::Status RequireNoOlder(int volumes_fd, const pool::VolumeRecord& record) {
  ImageBytes bytes(volumes_fd);
  if (!pool::IsUsable(record.volume.state)) return pool::RequireUnwanted(bytes, record);
  if (record.volume.state != VolumeState::kReady) return absl::OkStatus();
  if (record.volume.access_type == AccessType::kBlock) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool exist, bytes.Exist(record));
  if (!exist) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool data, bytes.HoldData(record, 0));
  if (!data) return absl::OkStatus();
  return FailedPrecondition(
      "its record says that it was never formatted, but its image holds data: the record is older "
      "than the image");
}

void ExamineAge(int volumes_fd, const pool::VolumeRecord& record,
                std::vector<VolumeDamage>& damage) {
  const absl::Status age = RequireNoOlder(volumes_fd, record);
  if (!absl::IsFailedPrecondition(age)) return;
  const auto again = RecordStore::Read(volumes_fd, record.volume.id.uuid);
  if (!again.ok() || again->volume.state != record.volume.state) return;
  damage.push_back({record.volume.id.uuid, MessageOf(age), kRecordIsOld});
}

}  // namespace

absl::StatusOr<VolumeExamination> ExamineVolumes(int root_fd) {
  VolumeExamination examination;
  const auto volumes = os::OpenDirectoryAt(root_fd, kVolumesName);
  if (absl::IsNotFound(volumes.status())) return examination;
  RETURN_IF_ERROR(volumes.status());
  ASSIGN_OR_RETURN(const std::vector<std::string> uuids, RecordStore::Uuids(volumes->get()));
  RecordStore records;
  for (const std::string& uuid : uuids) {
    const auto record = records.Read(volumes->get(), uuid);
    if (absl::IsNotFound(record.status())) continue;  // deleted since
    ++examination.volumes;
    if (!record.ok()) {
      examination.damage.push_back({uuid, MessageOf(record.status()), kRestoreRecord});
      continue;
    }
    ExamineAge(volumes->get(), *record, examination.damage);
    if (pool::IsUsable(record->volume.state)) {
      ExamineImage(volumes->get(), *record, examination.damage);
    }
  }
  return examination;
}

}  // namespace holdfast::file
