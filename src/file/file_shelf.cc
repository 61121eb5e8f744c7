// SPDX-License-Identifier: Apache-2.0
#include "file/file_shelf.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "core/clock.h"
#include "core/disk_names.h"
#include "core/trash_id.h"
#include "file/image_copy.h"
#include "file/image_file.h"
#include "file/kept_digests.h"
#include "file/volume_image.h"
#include "os/file.h"
#include "pool/volume_evidence.h"

namespace holdfast::file {
namespace {

// What the image is found by below the trash.
pool::VolumeRecord AtKey(const pool::VolumeRecord& record) {
  pool::VolumeRecord there = record;
  there.volume.id.uuid = record.trashed->key;
  return there;
}

// An entry whose record is gone with its image: only its directory has to be removed.
absl::StatusOr<pool::VolumeRecord> WithoutRecord(int directory_fd, const std::string& key) {
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory_fd));
  if (image) return Internal("it has an image but no record; restore its record from a backup");
  pool::VolumeRecord purged;
  purged.volume.id.uuid = UuidOfTrashKey(key);
  purged.volume.state = VolumeState::kDeleting;
  purged.trashed = pool::Trashed{.key = key, .deleted_at = Rfc3339(TimeOfTrashKey(key))};
  return purged;
}

// The record of an entry that was moved when the disk had no room to write that.
pool::VolumeRecord MadeFromKey(pool::VolumeRecord record, const std::string& key,
                               std::chrono::seconds keep) {
  record.trashed = pool::Trashed{.key = key,
                                 .deleted_at = Rfc3339(TimeOfTrashKey(key)),
                                 .keep = record.volume.keep_deleted.value_or(keep),
                                 .before = record.volume.state};
  record.volume.state = VolumeState::kTrashed;
  return record;
}

absl::Status SyncBoth(const VerifiedPool& pool) {
  RETURN_IF_ERROR(os::Sync(pool.trash, "trash directory"));
  return os::Sync(pool.volumes, "volumes directory");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FileShelf::Keys(int trash_fd) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, os::ListDirectory(trash_fd));
  std::erase_if(names, [](const std::string& name) { return !IsTrashKey(name); });
  return names;
}

absl::StatusOr<pool::VolumeRecord> FileShelf::Read(const std::string& key) {
  const auto directory = os::OpenDirectoryAt(pool_.trash, key);
  if (absl::IsNotFound(directory.status())) {
    return NotFound("there is no entry {} in the trash", key);
  }
  RETURN_IF_ERROR(directory.status());
  const auto text = os::ReadFileAt(directory->get(), kRecordName);
  if (absl::IsNotFound(text.status())) return WithoutRecord(directory->get(), key);
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(pool::VolumeRecord record, pool::DecodeRecord(*text));
  if (record.volume.id.uuid != UuidOfTrashKey(key)) {
    return Internal("its record belongs to volume {}", record.volume.id.uuid);
  }
  if (!record.trashed && pool::IsUsable(record.volume.state)) {
    return MadeFromKey(std::move(record), key, keep_);
  }
  if (record.trashed && record.trashed->key == key) return record;
  return Internal("its record does not say that it was deleted at that time");
}

// A table of digests stays where comparisons with deleted snapshots look for it.
absl::Status FileShelf::Put(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const auto directory = os::OpenDirectoryAt(pool_.volumes, uuid);
  if (!absl::IsNotFound(directory.status())) {
    RETURN_IF_ERROR(directory.status());
    RETURN_IF_ERROR(KeepTable(pool_.root, directory->get(), uuid));
    const std::string& key = record.trashed->key;
    if (::renameat(pool_.volumes, uuid.c_str(), pool_.trash, key.c_str()) != 0) {
      return OsError(errno, fmt::format("move volume {} to the trash", uuid));
    }
  }
  RETURN_IF_ERROR(SyncBoth(pool_));
  records_.Forget(uuid);
  return absl::OkStatus();
}

absl::Status FileShelf::TakeBack(const pool::VolumeRecord& record, const pool::VolumeRecord&) {
  const std::string& uuid = record.volume.id.uuid;
  // What is known of a later snapshot of that name is not known of this one.
  if (record.volume.role == VolumeRole::kSnapshot) {
    RETURN_IF_ERROR(RemoveKeptTablesOf(pool_.root, uuid));
  }
  const std::string& key = record.trashed->key;
  if (::renameat(pool_.trash, key.c_str(), pool_.volumes, uuid.c_str()) != 0) {
    const int error = errno;
    if (error == EEXIST || error == ENOTEMPTY)
      return AlreadyExists("there is something in the place of volume {}", uuid);
    return OsError(error, fmt::format("move volume {} out of the trash", uuid));
  }
  return SyncBoth(pool_);
}

absl::Status FileShelf::Replace(const pool::VolumeRecord&, const pool::VolumeRecord& next) {
  ASSIGN_OR_RETURN(const os::UniqueFd directory,
                   os::OpenDirectoryAt(pool_.trash, next.trashed->key));
  return os::WriteFileDurably(directory.get(), kRecordName, pool::EncodeRecord(next));
}

absl::Status FileShelf::Purge(const pool::VolumeRecord& record) {
  const std::string& key = record.trashed->key;
  const auto directory = os::OpenDirectoryAt(pool_.trash, key);
  if (absl::IsNotFound(directory.status())) return absl::OkStatus();
  RETURN_IF_ERROR(directory.status());
  RETURN_IF_ERROR(pool::RequireUnwanted(bytes_, AtKey(record)));
  for (const char* name :
       {kImageName, kTemporaryDigestsName, kDigestsName, kTemporaryRecordName, kRecordName}) {
    RETURN_IF_ERROR(os::RemoveFileAt(directory->get(), name));
  }
  return os::RemoveEmptyDirectoryAt(pool_.trash, key);
}

absl::Status FileShelf::RequireWhole(const pool::VolumeRecord& record) {
  const pool::VolumeRecord there = AtKey(record);
  RETURN_IF_ERROR(pool::RequireSize(bytes_, there));
  return pool::RequireUnwanted(bytes_, there);
}

absl::StatusOr<Bytes> FileShelf::Allocated(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImageToRead(pool_.trash, AtKey(record)));
  return OwnBytes(image.get());
}

absl::StatusOr<Bytes> FileShelf::Occupied(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImageToRead(pool_.trash, AtKey(record)));
  return ImageAllocated(image.get());
}

// btrfs counts blocks as free when it has written out that they are.
void FileShelf::AwaitRoom() { (void)::syncfs(pool_.trash); }

}  // namespace holdfast::file
