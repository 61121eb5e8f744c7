// SPDX-License-Identifier: Apache-2.0
// Deletion: refuse while in use, tombstone, detach, move to the trash, unlink.
//
// A kill after the tombstone leaves a volume that no call sees any more; a repeated DeleteVolume, a
// CreateVolume of the same name and Repair all carry on from wherever it stopped.
#include <fcntl.h>

#include <cerrno>

#include "core/log.h"
#include "os/device_use.h"
#include "os/file.h"
#include "pool/file_pool.h"
#include "pool/image_file.h"

namespace holdfast::pool {
namespace {

absl::Status MoveToTrash(const VerifiedPool& pool, const std::string& uuid) {
  if (::renameat(pool.volumes, uuid.c_str(), pool.trash, uuid.c_str()) != 0 && errno != ENOENT) {
    return OsError(errno, fmt::format("move volume {} to the trash", uuid));
  }
  RETURN_IF_ERROR(os::Sync(pool.trash, "trash directory"));
  return os::Sync(pool.volumes, "volumes directory");
}

}  // namespace

absl::Status FilePool::Delete(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  auto record = records_.Read(pool.volumes, id.uuid);
  if (absl::IsNotFound(record.status())) return FinishDeletion(pool, id.uuid);
  RETURN_IF_ERROR(record.status());
  if (record->volume.state == VolumeState::kAllocating) {
    RETURN_IF_ERROR(RequireUnwantedFiles(pool, *record));
  }
  if (record->volume.state != VolumeState::kAllocating &&
      record->volume.state != VolumeState::kDeleting) {
    // Whoever cannot find out whether it is in use does not delete it.
    ASSIGN_OR_RETURN(const auto attached, FindDevice(id));
    if (attached) RETURN_IF_ERROR(os::RequireUnused(*attached));
    ASSIGN_OR_RETURN(const os::UniqueFd present, os::OpenDirectoryAt(pool.volumes, id.uuid));
    RETURN_IF_ERROR(RequireNoOtherDevice(present.get(), id.uuid));
    record->volume.state = VolumeState::kDeleting;
    const absl::Status tombstone = records_.Write(pool.volumes, *record);
    if (!tombstone.ok()) {
      // A full disk has no room for a tombstone. The move to the trash needs none and is one too.
      RETURN_IF_ERROR(UnmapDevice(id));
      LogWarning("volume {} is deleted without a tombstone: {}", id.ToString(),
                 MessageOf(tombstone));
    }
  }
  return FinishDeletion(pool, id.uuid);
}

// For a volume that is a tombstone, or in the trash, or of which the CO was never told.
absl::Status FilePool::FinishDeletion(const VerifiedPool& pool, const std::string& uuid) {
  // The deletion has begun, so the answer must be one that makes the caller repeat it.
  const auto repeat = [](const absl::Status& failure) {
    return WithCode(failure, absl::StatusCode::kUnavailable);
  };
  const auto directory = os::OpenDirectoryAt(pool.volumes, uuid);
  if (directory.ok()) {
    const auto image = OpenImageReadOnly(directory->get());
    if (!image.ok()) return repeat(image.status());
    RETURN_IF_ERROR(repeat(*image ? DetachImage((*image)->get(), uuid) : DetachUnreachable(uuid)));
  } else if (!absl::IsNotFound(directory.status())) {
    return repeat(directory.status());
  }
  RETURN_IF_ERROR(EmptyTrash(pool, uuid));
  RETURN_IF_ERROR(MoveToTrash(pool, uuid));
  // In the trash it is no volume any more; its bytes count as used until they are unlinked.
  records_.Forget(uuid);
  ledger_.Remove(uuid);
  return EmptyTrash(pool, uuid);
}

// Only names that Holdfast makes are removed; anything else keeps the directory, and says so.
absl::Status FilePool::EmptyTrash(const VerifiedPool& pool, const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(pool.trash, uuid);
  if (absl::IsNotFound(directory.status())) return absl::OkStatus();
  RETURN_IF_ERROR(directory.status());
  for (const char* name : {kImageName, "record.json.tmp", "record.json"}) {
    RETURN_IF_ERROR(os::RemoveFileAt(directory->get(), name));
  }
  return os::RemoveEmptyDirectoryAt(pool.trash, uuid);
}

}  // namespace holdfast::pool
