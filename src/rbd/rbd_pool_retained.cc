// SPDX-License-Identifier: Apache-2.0
// What deleted volumes and snapshots have left (rbd/retained.h): finding out what nothing needs any
// more, and removing it. Several processes may do so at once.
#include <deque>

#include "rbd/image.h"
#include "rbd/image_snapshots.h"
#include "rbd/rbd_pool.h"
#include "rbd/retained.h"
#include "rbd/unneeded_snapshots.h"

namespace holdfast::rbd {
namespace {

// Removes the snapshot of a deleted record, unless it has clones. Whether it is gone.
absl::StatusOr<bool> RemoveNoted(const CephPool& ceph, const SnapshotName& name,
                                 const std::string& noted) {
  const auto ids = ParseSnapshotIds(noted);
  if (ids) return RemoveUnneededSnapshot(ceph, name, *ids);
  return Internal("the note of snapshot '{}' is damaged: '{}'", name.ToString(), noted);
}

// Whether snapshots or clones need the image. Only snapshots that were noted, and the remains of
// others that were removed, are removed with their clones; one that no record names may hold data.
absl::StatusOr<bool> IsNeeded(const CephPool& ceph, const std::string& image) {
  RETURN_IF_ERROR(RemoveUnneededTrash(ceph, image));
  ASSIGN_OR_RETURN(const auto snapshots, ListImageSnapshots(ceph, image));
  if (!snapshots) return false;
  std::string unknown;
  for (const ImageSnapshot& snapshot : *snapshots) {
    if (snapshot.kind == ImageSnapshot::Kind::kTrashed) return true;
    const SnapshotName name{image, snapshot.name};
    ASSIGN_OR_RETURN(const std::string noted, RetainedIdOf(ceph, name.ToString()));
    if (!noted.empty()) {
      ASSIGN_OR_RETURN(const bool gone, RemoveNoted(ceph, name, noted));
      if (!gone) return true;
      continue;
    }
    ASSIGN_OR_RETURN(const bool recorded, IsRecorded(ceph, name));
    if (recorded) return true;
    unknown = snapshot.name;
  }
  if (unknown.empty()) return false;
  return FailedPrecondition(
      "image '{}' of a deleted volume has snapshot '{}', which no record names; if its data is not "
      "needed, remove it: rbd snap rm",
      image, unknown);
}

}  // namespace

// Removes the noted image, unless something needs it. Nothing if it stays; else what it was a clone
// of, which may have been kept for it alone: names to look at next.
absl::StatusOr<std::optional<std::vector<std::string>>> RbdPool::RemoveNotedImage(
    const CephPool& ceph, const std::string& image, const std::string& noted) {
  std::vector<std::string> next;
  ASSIGN_OR_RETURN(const auto id, ReadImageId(ceph, image));
  if (id) {
    if (*id != noted) return ImageWasReplaced(image, *id, noted);
    ASSIGN_OR_RETURN(const bool needed, IsNeeded(ceph, image));
    if (needed) return std::nullopt;
    ASSIGN_OR_RETURN(const auto ids, ReadParentIds(ceph, *id));
    if (ids) {
      ASSIGN_OR_RETURN(const auto parent, NameOfParent(ceph, *ids));
      if (parent) next = {parent->ToString(), parent->image};
    }
    RETURN_IF_ERROR(common_->removals.Remove(ceph, image));
  }
  RETURN_IF_ERROR(ForgetRetained(ceph, image));
  return next;
}

absl::StatusOr<bool> RbdPool::RemoveIfUnneeded(const CephPool& ceph, const std::string& name) {
  bool removed = false;
  for (std::deque<std::string> left{name}; !left.empty(); left.pop_front()) {
    const std::string& next = left.front();
    ASSIGN_OR_RETURN(const std::string noted, RetainedIdOf(ceph, next));
    if (noted.empty()) continue;
    if (const auto snapshot = ParseSnapshotName(next)) {
      ASSIGN_OR_RETURN(const bool gone, RemoveNoted(ceph, *snapshot, noted));
      if (!gone) continue;
      left.push_back(snapshot->image);
    } else {
      ASSIGN_OR_RETURN(const auto parents, RemoveNotedImage(ceph, next, noted));
      if (!parents) continue;
      left.insert(left.end(), parents->begin(), parents->end());
    }
    removed = true;
  }
  return removed;
}

// An image has to be opened for it, so only those are looked at whose snapshots have neither
// records nor notes.
absl::StatusOr<std::vector<std::string>> RbdPool::FindUnneeded(
    const CephPool& ceph, const std::map<std::string, std::string>& retained,
    const std::set<std::string>& named) {
  std::vector<std::string> unneeded;
  std::set<std::string> with_snapshots;
  const auto note_image = [&](const std::string& name) {
    if (const auto snapshot = ParseSnapshotName(name)) with_snapshots.insert(snapshot->image);
  };
  for (const std::string& name : named) note_image(name);
  for (const auto& [name, id] : retained) note_image(name);
  for (const auto& [name, id] : retained) {
    // What a tombstone still names goes with it.
    if (named.contains(name) || with_snapshots.contains(name)) continue;
    bool needed = false;
    if (ParseSnapshotName(name)) {
      const auto ids = ParseSnapshotIds(id);
      if (ids) {
        ASSIGN_OR_RETURN(const auto found, ReadHeaderSnapshot(ceph, *ids));
        needed = found && found->clones != 0;
      }
    } else {
      ASSIGN_OR_RETURN(needed, HasClones(ceph, name));
    }
    if (!needed) unneeded.push_back(name);
  }
  return unneeded;
}

}  // namespace holdfast::rbd
