// SPDX-License-Identifier: Apache-2.0
// Ending what was left half done. Only a controller looks: of a pool that every node reaches one
// look is enough. Another process may be at work on what it sees, so each step holds only if the
// record is still the one that was read, and a creation is given time to be repeated.
//
// Never touched: images that no record names, damaged records, and what is open in some client.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/trash_id.h"
#include "rbd/image_name.h"
#include "rbd/rbd_pool.h"
#include "rbd/rbd_volumes.h"
#include "rbd/retained.h"

namespace holdfast::rbd {
absl::StatusOr<std::vector<Leftover>> RbdPool::FindLeftovers() {
  std::vector<Leftover> leftovers;
  if (!common_->is_controller) return leftovers;
  const auto add = [&](LeftoverKind kind, const std::string& uuid) {
    leftovers.push_back({kind, WithUuid(uuid).ToString()});
  };
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  // Images first: each was recorded before it was made, so one without a record now is an orphan,
  // or has been deleted since.
  ASSIGN_OR_RETURN(const std::vector<std::string> images, ListImages(*ceph));
  ASSIGN_OR_RETURN(const RecordTable::Page page, RecordTable::List(*ceph, "", 0));
  // After the records: what is retained is noted before its record goes.
  ASSIGN_OR_RETURN(const auto retained, ListRetained(*ceph));
  const Call call(*this, *ceph);
  std::set<std::string> named;
  std::set<std::string> unreadable(page.damaged.begin(), page.damaged.end());
  for (const pool::VolumeRecord& record : page.records) {
    named.insert(record.image_name);
    const auto kind = call.volumes.LeftoverKindOf(record);
    if (kind) add(*kind, record.volume.id.uuid);
  }
  for (const pool::VolumeRecord& record : page.trashed) named.insert(record.image_name);
  for (const std::string& key : page.damaged_in_trash) unreadable.insert(UuidOfTrashKey(key));
  FindUntended(page, leftovers);
  for (const std::string& uuid : page.damaged) add(LeftoverKind::kDamagedVolume, uuid);
  for (const std::string& image : images) {
    const auto uuid = UuidOfImage(image);
    const bool orphaned =
        uuid && !named.contains(image) && !retained.contains(image) && !unreadable.contains(*uuid);
    if (orphaned) add(LeftoverKind::kOrphanedImage, *uuid);
  }
  ASSIGN_OR_RETURN(const auto unneeded, FindUnneeded(*ceph, retained, named));
  for (const std::string& name : unneeded) {
    if (const auto uuid = UuidOfBytes(name)) add(LeftoverKind::kUnfinishedDeletion, *uuid);
  }
  return leftovers;
}

absl::StatusOr<bool> RbdPool::Repair(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(std::vector<std::string> images, ListImages(*ceph));
  ASSIGN_OR_RETURN(const auto retained, ListRetained(*ceph));
  bool removed = false;
  for (const auto& [name, noted] : retained) {
    if (UuidOfBytes(name) != id.uuid) continue;
    ASSIGN_OR_RETURN(const bool unneeded, RemoveIfUnneeded(*ceph, name));
    removed = removed || unneeded;
  }
  ASSIGN_OR_RETURN(const auto records, TrashTable::AllOf(*ceph, id.uuid));
  std::erase_if(images, [&](const std::string& image) {
    return UuidOfImage(image) != id.uuid || retained.contains(image) ||
           std::ranges::any_of(
               records, [&](const auto& record) { return record.second.image_name == image; });
  });
  if (!images.empty()) {
    return FailedPrecondition(
        "no record names image {} of Ceph pool '{}'; if its data is not needed, remove the image: "
        "rbd rm",
        fmt::join(images, ", "), info_.location);
  }
  if (!records.contains(id.uuid)) return removed;
  const auto repaired = Call(*this, *ceph).volumes.Repair(id);
  // Another process is at work on it: then it is not half done.
  if (absl::IsAborted(repaired.status())) return removed;
  RETURN_IF_ERROR(repaired.status());
  return removed || *repaired;
}

}  // namespace holdfast::rbd
