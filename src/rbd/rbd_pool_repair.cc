// SPDX-License-Identifier: Apache-2.0
// Ending what was left half done. Only a controller looks: of a pool that every node reaches one
// look is enough. Another process may be at work on what it sees, so each step holds only if the
// record is still the one that was read, and a creation is given time to be repeated.
//
// Never touched: images that no record names, damaged records, and what is open in some client.
#include <fmt/ranges.h>

#include <set>

#include "core/log.h"
#include "pool/volume_match.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

// A CO repeats a creation every few minutes at least as long as it wants the volume.
constexpr absl::Duration kCreationPatience = absl::Minutes(30);

std::optional<LeftoverKind> KindOf(const pool::VolumeRecord& record) {
  const Volume& volume = record.volume;
  if (volume.state == VolumeState::kDeleting) return LeftoverKind::kUnfinishedDeletion;
  if (volume.state == VolumeState::kAllocating) {
    return pool::AgeOf(volume) > kCreationPatience
               ? std::optional(LeftoverKind::kUnfinishedCreation)
               : std::nullopt;
  }
  if (record.grow_to_bytes != 0) return LeftoverKind::kUnfinishedGrowth;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::vector<Leftover>> RbdPool::FindLeftovers() {
  std::vector<Leftover> leftovers;
  if (!common_->is_controller) return leftovers;
  const auto add = [&](LeftoverKind kind, const std::string& uuid) {
    leftovers.push_back({kind, VolumeId{info_.name, info_.node, uuid}.ToString()});
  };
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  // Images first: each was recorded before it was made, so one without a record now is an orphan,
  // or was deleted meanwhile.
  ASSIGN_OR_RETURN(const std::vector<std::string> images, ListImages(*ceph));
  ASSIGN_OR_RETURN(const RecordTable::Page page, RecordTable::List(*ceph, "", 0));
  std::set<std::string> named;
  std::set<std::string> unreadable(page.damaged.begin(), page.damaged.end());
  for (const pool::VolumeRecord& record : page.records) {
    named.insert(record.image_name);
    if (const auto kind = KindOf(record)) add(*kind, record.volume.id.uuid);
  }
  for (const std::string& uuid : page.damaged) add(LeftoverKind::kDamagedVolume, uuid);
  for (const std::string& image : images) {
    const auto uuid = UuidOfImage(image);
    const bool orphaned = uuid && !named.contains(image) && !unreadable.contains(*uuid);
    if (orphaned) add(LeftoverKind::kOrphanedImage, *uuid);
  }
  return leftovers;
}

absl::StatusOr<bool> RbdPool::Repair(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(std::vector<std::string> images, ListImages(*ceph));
  auto entry = RecordTable::Read(*ceph, id.uuid);
  if (!entry.ok() && !absl::IsNotFound(entry.status())) return entry.status();
  std::erase_if(images, [&](const std::string& image) {
    return UuidOfImage(image) != id.uuid || (entry.ok() && entry->record.image_name == image);
  });
  if (!images.empty()) {
    return FailedPrecondition("no record names image {} of Ceph pool '{}'", fmt::join(images, ", "),
                              info_.location);
  }
  if (!entry.ok()) return false;
  const auto repaired = RepairRecord(*ceph, *entry);
  // Another process is at work on it: then it is not half done.
  if (absl::IsAborted(repaired.status())) return false;
  return repaired;
}

absl::StatusOr<bool> RbdPool::RepairRecord(const CephPool& ceph, RecordEntry& entry) {
  const auto kind = KindOf(entry.record);
  if (!kind) return false;
  if (*kind == LeftoverKind::kUnfinishedGrowth) {
    RETURN_IF_ERROR(FinishGrowth(ceph, entry));
    return true;
  }
  RETURN_IF_ERROR(WriteTombstone(ceph, entry));
  RETURN_IF_ERROR(FinishDeletion(ceph, entry));
  return true;
}

}  // namespace holdfast::rbd
