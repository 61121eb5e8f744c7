// SPDX-License-Identifier: Apache-2.0
#include "file/file_volumes.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "core/disk_names.h"
#include "core/log.h"
#include "file/image_copy.h"
#include "file/image_evidence.h"
#include "file/image_file.h"
#include "file/kept_digests.h"
#include "file/volume_image.h"
#include "os/file.h"

namespace holdfast::file {
absl::StatusOr<pool::VolumeRecord> FileRecords::Read(const std::string& uuid) {
  return RecordStore::Read(pool_.volumes, uuid);
}

// What is known of an earlier snapshot of that name is not known of this one.
absl::Status FileRecords::Insert(const pool::VolumeRecord& record) {
  if (record.volume.role == VolumeRole::kSnapshot) {
    RETURN_IF_ERROR(RemoveKeptTablesOf(pool_.root, record.volume.id.uuid));
  }
  return records_.Write(pool_.volumes, record);
}

absl::Status FileRecords::Replace(const pool::VolumeRecord&, const pool::VolumeRecord& next) {
  return records_.Write(pool_.volumes, next);
}

// The record went to the trash with its directory.
absl::Status FileRecords::Remove(const pool::VolumeRecord& present) {
  records_.Forget(present.volume.id.uuid);
  return absl::OkStatus();
}

absl::Status FileRecords::SyncName() { return os::Sync(pool_.volumes, "volumes directory"); }

absl::Status FileRecords::SyncAll(const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool_.volumes, uuid));
  RETURN_IF_ERROR(os::Sync(directory.get(), "volume directory"));
  return SyncName();
}

bool FileRecords::HasRemains(const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(pool_.volumes, uuid);
  return directory.ok() && os::ExistsAt(directory->get(), kTemporaryRecordName);
}

absl::Status FileRecords::RemoveRemains(const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool_.volumes, uuid));
  return os::RemoveFileAt(directory.get(), kTemporaryRecordName);
}

absl::StatusOr<bool> ImageBytes::Exist(const pool::VolumeRecord& record) {
  const auto directory = os::OpenDirectoryAt(volumes_fd_, record.volume.id.uuid);
  if (absl::IsNotFound(directory.status())) return false;
  RETURN_IF_ERROR(directory.status());
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory->get()));
  return image.has_value();
}

absl::StatusOr<Bytes> ImageBytes::Size(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(volumes_fd_, record));
  return ImageSize(image.get());
}

absl::StatusOr<bool> ImageBytes::HoldData(const pool::VolumeRecord& record, Bytes begin) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImageToRead(volumes_fd_, record));
  return HoldsData(image.get(), begin);
}

absl::StatusOr<std::string> ImageBytes::ReadMark(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImageToRead(volumes_fd_, record));
  return FormattedUuid(image.get());
}

absl::StatusOr<bool> ImageBytes::IsMarkedCopied(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImageToRead(volumes_fd_, record));
  return file::IsMarkedCopied(image.get());
}

absl::StatusOr<std::string> FileBackend::Make(const pool::VolumeRecord& record) {
  const Volume& volume = record.volume;
  ASSIGN_OR_RETURN(const os::UniqueFd directory,
                   os::OpenDirectoryAt(pool_.volumes, volume.id.uuid));
  RETURN_IF_ERROR(MakeImage(directory.get(), volume.capacity_bytes, volume.provisioning));
  return std::string();
}

absl::Status FileBackend::RemoveUnfinished(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd directory,
                   os::OpenDirectoryAt(pool_.volumes, record.volume.id.uuid));
  return os::RemoveFileAt(directory.get(), kImageName);
}

absl::Status FileBackend::Extend(const pool::VolumeRecord& record, Bytes size) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return ExtendImage(image.get(), size, record.volume.provisioning);
}

absl::Status FileBackend::CutOff(const pool::VolumeRecord& record, Bytes size) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return CutOffImage(image.get(), size);
}

absl::Status FileBackend::Sync(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return os::Sync(image.get(), "image");
}

absl::Status FileBackend::Zero(const pool::VolumeRecord& record) {
  RETURN_IF_ERROR(Unmap(record));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return ZeroImage(image.get(), record.volume.capacity_bytes, record.volume.provisioning);
}

absl::Status FileBackend::Mark(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return MarkFormatted(image.get(), record.volume.filesystem, record.volume.filesystem_uuid);
}

absl::StatusOr<Bytes> FileBackend::Allocated(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return OwnBytes(image.get());
}

absl::StatusOr<Bytes> FileBackend::Occupied(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return ImageAllocated(image.get());
}

absl::Status FileBackend::Discard(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  if (::renameat(pool_.volumes, uuid.c_str(), pool_.trash, uuid.c_str()) != 0 && errno != ENOENT) {
    return OsError(errno, fmt::format("move volume {} to the trash", uuid));
  }
  RETURN_IF_ERROR(os::Sync(pool_.trash, "trash directory"));
  return os::Sync(pool_.volumes, "volumes directory");
}

// Only names that Holdfast makes are removed; anything else keeps the directory, and the error says
// so. A table of digests outlives its snapshot, unless there is a new one of that UUID.
absl::Status FileBackend::Purge(const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(pool_.trash, uuid);
  if (absl::IsNotFound(directory.status())) return absl::OkStatus();
  RETURN_IF_ERROR(directory.status());
  if (!os::ExistsAt(pool_.volumes, uuid)) {
    RETURN_IF_ERROR(KeepTable(pool_.root, directory->get(), uuid));
  }
  for (const char* name :
       {kImageName, kTemporaryDigestsName, kDigestsName, kTemporaryRecordName, kRecordName}) {
    RETURN_IF_ERROR(os::RemoveFileAt(directory->get(), name));
  }
  return os::RemoveEmptyDirectoryAt(pool_.trash, uuid);
}

bool FileBackend::HasDiscarded(const std::string& uuid) { return os::ExistsAt(pool_.trash, uuid); }

absl::Status FileBackend::RequireOnlyOwn(const std::string& uuid) {
  constexpr std::array<std::string_view, 5> kOwn = {kImageName, kRecordName, kTemporaryRecordName,
                                                    kDigestsName, kTemporaryDigestsName};
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool_.volumes, uuid));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, os::ListDirectory(directory.get()));
  for (const std::string& name : names) {
    if (std::ranges::find(kOwn, name) != kOwn.end()) continue;
    return FailedPrecondition(
        "the directory of volume {} holds '{}', which Holdfast did not create", uuid, name);
  }
  return absl::OkStatus();
}

absl::StatusOr<os::BlockDevice> FileBackend::Map(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  if (record.volume.provisioning == Provisioning::kThick) {
    const std::string& uuid = record.volume.id.uuid;
    // The data is whole; only the promise of space is not, which Condition reports.
    const absl::Status refilled = RefillHoles(image.get(), record.volume.capacity_bytes);
    if (!refilled.ok()) LogWarning("volume {} is not thick: {}", uuid, MessageOf(refilled));
    const std::string why = WhyNotThick(image.get(), has_copies_);
    if (!why.empty()) LogWarning("volume {} is not thick: {}", uuid, why);
  }
  return devices_.Map(image.get(), record);
}

absl::StatusOr<std::optional<os::BlockDevice>> FileBackend::FindDevice(
    const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return devices_.FindOfImage(image.get(), record.volume.id.uuid);
}

absl::Status FileBackend::RefreshDevice(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return devices_.Refresh(image.get(), record.volume.id.uuid);
}

absl::Status FileBackend::RequireUnused(const pool::VolumeRecord& record) {
  return devices_.RequireUnused(pool_.volumes, record.volume.id.uuid);
}

absl::Status FileBackend::Unmap(const pool::VolumeRecord& record) {
  return devices_.UnmapForDeletion(pool_.volumes, record.volume.id.uuid);
}

absl::Status FileBackend::UnmapAbandoned(const pool::VolumeRecord& record) {
  return devices_.UnmapAbandoned(pool_.volumes, record.volume.id.uuid);
}

}  // namespace holdfast::file
