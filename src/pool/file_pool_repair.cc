// SPDX-License-Identifier: Apache-2.0
// Ending what was left half done: deletions are finished, creations that the CO was never told of
// removed, growths finished or taken back. Interrupted formatting is left to the next stage, which
// alone knows filesystems.
#include <algorithm>
#include <array>

#include "core/log.h"
#include "os/file.h"
#include "pool/file_pool.h"
#include "pool/image_evidence.h"
#include "pool/image_file.h"

namespace holdfast::pool {
namespace {

constexpr char kTemporaryRecord[] = "record.json.tmp";

// A directory without a record holds at most what a creation makes before its record. Anything else
// was put there by somebody, perhaps to restore a volume.
absl::Status RequireOwnNames(int directory_fd, const std::string& uuid) {
  constexpr std::array<std::string_view, 3> kOwn = {kImageName, "record.json", kTemporaryRecord};
  ASSIGN_OR_RETURN(const std::vector<std::string> names, os::ListDirectory(directory_fd));
  for (const std::string& name : names) {
    if (std::ranges::find(kOwn, name) != kOwn.end()) continue;
    return FailedPrecondition("the directory of volume {} holds '{}', which is not Holdfast's",
                              uuid, name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Leftover>> FilePool::FindLeftovers() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const std::vector<std::string> trash, RecordStore::Uuids(pool.trash));
  ASSIGN_OR_RETURN(const std::vector<std::string> uuids, RecordStore::Uuids(pool.volumes));
  std::vector<Leftover> leftovers;
  const auto add = [&](LeftoverKind kind, const std::string& uuid) {
    leftovers.push_back({kind, VolumeId{info_.name, info_.node, uuid}.ToString()});
  };
  for (const std::string& uuid : trash) add(LeftoverKind::kTrash, uuid);
  for (const std::string& uuid : uuids) {
    if (const auto kind = FindLeftover(pool, uuid)) add(*kind, uuid);
  }
  return leftovers;
}

std::optional<LeftoverKind> FilePool::FindLeftover(const VerifiedPool& pool,
                                                   const std::string& uuid) const {
  const auto record = RecordStore::Read(pool.volumes, uuid);
  if (absl::IsNotFound(record.status())) return std::nullopt;
  if (!record.ok() || !RequireUnwantedFiles(pool, *record).ok()) {
    return LeftoverKind::kDamagedVolume;
  }
  if (record->volume.state == VolumeState::kAllocating) return LeftoverKind::kUnfinishedCreation;
  if (record->volume.state == VolumeState::kDeleting) return LeftoverKind::kUnfinishedDeletion;
  if (record->grow_to_bytes != 0) return LeftoverKind::kUnfinishedGrowth;
  if (!records_.Lists(uuid)) return LeftoverKind::kUnlistedVolume;
  const auto directory = os::OpenDirectoryAt(pool.volumes, uuid);
  if (directory.ok() && os::ExistsAt(directory->get(), kTemporaryRecord)) {
    return LeftoverKind::kTemporaryFile;
  }
  return std::nullopt;
}

absl::StatusOr<bool> FilePool::Repair(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  const bool in_trash = os::ExistsAt(pool.trash, id.uuid);
  RETURN_IF_ERROR(EmptyTrash(pool, id.uuid));
  const auto kind = FindLeftover(pool, id.uuid);
  if (!kind) return in_trash;
  ASSIGN_OR_RETURN(VolumeRecord record, RecordStore::Read(pool.volumes, id.uuid));
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool.volumes, id.uuid));
  RETURN_IF_ERROR(RequireUnwanted(directory.get(), record));
  if (*kind == LeftoverKind::kUnfinishedCreation || *kind == LeftoverKind::kUnfinishedDeletion) {
    RETURN_IF_ERROR(RequireOwnNames(directory.get(), id.uuid));
    RETURN_IF_ERROR(DetachOwnDeviceOf(directory.get(), id.uuid));
    RETURN_IF_ERROR(FinishDeletion(pool, id.uuid));
    return true;
  }
  if (!records_.Lists(id.uuid)) RETURN_IF_ERROR(Count(pool, record));
  if (record.grow_to_bytes != 0) RETURN_IF_ERROR(SettleGrowth(pool, record));
  RETURN_IF_ERROR(os::RemoveFileAt(directory.get(), kTemporaryRecord));
  return true;
}

absl::Status FilePool::SettleGrowth(const VerifiedPool& pool, VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  RETURN_IF_ERROR(FinishGrowth(pool, record));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImageOf(pool, uuid));
  ASSIGN_OR_RETURN(const auto loop, FindLoopOf(image.get(), uuid));
  return loop ? os::RefreshLoop(*loop).status() : absl::OkStatus();
}

}  // namespace holdfast::pool
