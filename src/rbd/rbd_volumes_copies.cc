// SPDX-License-Identifier: Apache-2.0
// Snapshots and clones of images (docs/adr/0028). A snapshot's bytes are a snapshot of the volume's
// image. A restored volume is a clone of it, and shares its data; so the image of a deleted volume
// stays, as one that is retained, for as long as it has a snapshot or a clone; and so does a
// snapshot that was deleted, for as long as it has a clone.
#include <algorithm>

#include "core/log.h"
#include "rbd/format_mark.h"
#include "rbd/rbd_volumes.h"
#include "rbd/retained.h"
#include "rbd/unneeded_snapshots.h"

namespace holdfast::rbd {
namespace {

// The kernel's client maps images with fifteen parents at most, and each of them costs every first
// read a look. A clone that would have more than this many is made independent before its first
// use.
constexpr int kMostParents = 3;

// The ids that the record says its snapshot has. Nothing while that is being made.
std::optional<SnapshotIds> KnownIds(const pool::VolumeRecord& record) {
  if (record.volume.state == VolumeState::kAllocating) return std::nullopt;
  return ParseSnapshotIds(record.image_id);
}

absl::Status WasReplaced(const std::string& name, const SnapshotIds& found,
                         const std::string& recorded) {
  return FailedPrecondition(
      "snapshot '{}' has id {}, and the record says {}: it was replaced, and is left alone; if it "
      "is not needed, remove it: rbd snap rm",
      name, found.ToString(), recorded);
}

absl::Status SizeDiffers(const pool::VolumeRecord& source, Bytes size) {
  return Aborted("volume {} has {} bytes, and had {} when its snapshot was asked for; try again",
                 source.volume.id.uuid, size, source.volume.capacity_bytes);
}

}  // namespace

// The record's snapshot; nothing if there is none. FAILED_PRECONDITION if it is not the one that
// the record says.
absl::StatusOr<std::optional<RbdPool::Images::FoundSnapshot>> RbdPool::Images::FindSnapshot(
    const pool::VolumeRecord& record) {
  const auto name = ParseSnapshotName(record.image_name);
  if (!name) return std::nullopt;
  ASSIGN_OR_RETURN(const auto image_id, ReadImageId(ceph_, name->image));
  if (!image_id) return std::nullopt;
  const auto known = KnownIds(record);
  if (known && known->image == *image_id) {
    ASSIGN_OR_RETURN(const auto found, ReadHeaderSnapshot(ceph_, *known));
    const bool named = found && found->snapshot.kind == ImageSnapshot::Kind::kNamed &&
                       found->snapshot.name == name->snapshot;
    if (named) return FoundSnapshot{.ids = *known, .size = found->snapshot.size};
  }
  ASSIGN_OR_RETURN(const auto snapshot, FindImageSnapshot(ceph_, *name));
  if (!snapshot) return std::nullopt;
  const SnapshotIds ids{.image = *image_id, .snapshot = snapshot->id};
  if (known && ids != *known) return WasReplaced(record.image_name, ids, record.image_id);
  return FoundSnapshot{.ids = ids, .size = snapshot->size};
}

int RbdPool::Images::CloneDepth(const pool::VolumeRecord& source, VolumeRole role) {
  if (role == VolumeRole::kSnapshot) return source.clone_depth;
  return source.clone_depth < kMostParents ? source.clone_depth + 1 : 0;
}

absl::StatusOr<std::optional<pool::CopyProgress>> RbdPool::Images::PlanCopy(
    const pool::VolumeRecord& source, VolumeRole role) {
  if (role == VolumeRole::kSnapshot || source.clone_depth < kMostParents) return std::nullopt;
  return pool::CopyProgress{
      .data_bytes = source.volume.capacity_bytes, .copied_to = 0, .source_version = ""};
}

absl::StatusOr<std::string> RbdPool::Images::Copy(const pool::VolumeRecord& source,
                                                  const pool::VolumeRecord& record) {
  if (const auto name = ParseSnapshotName(record.image_name)) return Cut(source, *name);
  if (const auto snapshot = ParseSnapshotName(source.image_name)) {
    return Clone(record, *snapshot, source.image_id);
  }
  // Of a volume a snapshot is made first, which is needed for as long as the clone shares its data.
  const SnapshotName cut{source.image_name, record.image_name};
  ASSIGN_OR_RETURN(const std::string cut_ids, Cut(source, cut));
  auto cloned = Clone(record, cut, cut_ids);
  if (cloned.ok()) RETURN_IF_ERROR(NoteRetained(ceph_, cut.ToString(), cut_ids));
  return cloned;
}

absl::StatusOr<std::string> RbdPool::Images::Cut(const pool::VolumeRecord& source,
                                                 const SnapshotName& name) {
  ASSIGN_OR_RETURN(const std::string image_id, RequireImage(source));
  ASSIGN_OR_RETURN(const ImageSnapshot snapshot, CutImageSnapshot(ceph_, name));
  const SnapshotIds ids{.image = image_id, .snapshot = snapshot.id};
  if (snapshot.size == source.volume.capacity_bytes) return ids.ToString();
  RETURN_IF_ERROR(RemoveImageSnapshot(ceph_, name.image, ids).status());
  return SizeDiffers(source, snapshot.size);
}

// That the clone is one of the right snapshot is found in the clone, which says what it was made
// from: to look at the snapshot before would cost more and show less.
absl::StatusOr<std::string> RbdPool::Images::Clone(const pool::VolumeRecord& record,
                                                   const SnapshotName& from,
                                                   const std::string& from_ids) {
  const std::string& name = record.image_name;
  const absl::Status cloned = CloneImage(ceph_, from, name, pool_.access_.data_pool);
  if (absl::IsAlreadyExists(cloned)) return WithCode(cloned, absl::StatusCode::kAborted);
  RETURN_IF_ERROR(cloned);
  ASSIGN_OR_RETURN(const auto id, ReadImageId(ceph_, name));
  if (!id) return Aborted("image '{}' was removed while it was made; try again", name);
  ASSIGN_OR_RETURN(const CloneFacts facts, ReadCloneFacts(ceph_, *id));
  if (!facts.parent) return Internal("image '{}' is no clone, and was made as one", name);
  if (facts.parent->ToString() != from_ids) {
    return WasReplaced(from.ToString(), *facts.parent, from_ids);
  }
  if (facts.mark) {
    RETURN_IF_ERROR(RemoveFormatMark(ceph_, *id));
    const auto& known = record.volume.inherited_uuids;
    if (std::ranges::find(known, UuidOfMark(*facts.mark)) == known.end()) {
      return Aborted("the content source was formatted meanwhile, as {}; try again", *facts.mark);
    }
  }
  if (facts.size < record.volume.capacity_bytes) {
    RETURN_IF_ERROR(GrowImage(ceph_, name, record.volume.capacity_bytes));
  }
  return *id;
}

// Makes the clone independent of its parents, whether its source is still there or not.
absl::StatusOr<Bytes> RbdPool::Images::CopyOn(const pool::VolumeRecord&,
                                              const pool::VolumeRecord& record) {
  const std::string& image = record.image_name;
  const Bytes size = record.volume.capacity_bytes;
  ASSIGN_OR_RETURN(const std::string id, RequireImage(record));
  ASSIGN_OR_RETURN(const auto ids, ReadParentIds(ceph_, id));
  if (!ids) return size;
  ASSIGN_OR_RETURN(const auto parent, NameOfParent(ceph_, *ids));
  ASSIGN_OR_RETURN(const Bytes reached, pool_.common_->flattening.Continue(ceph_, image, size));
  ASSIGN_OR_RETURN(const auto left, ReadParentIds(ceph_, id));
  if (left) return std::max(reached, record.copy->copied_to);
  if (parent) RemoveIfUnneeded(*parent);
  return size;
}

absl::StatusOr<std::optional<SnapshotName>> RbdPool::Images::FindParent(const std::string& image) {
  ASSIGN_OR_RETURN(const auto id, ReadImageId(ceph_, image));
  if (!id) return std::nullopt;
  ASSIGN_OR_RETURN(const auto ids, ReadParentIds(ceph_, *id));
  if (!ids) return std::nullopt;
  return NameOfParent(ceph_, *ids);
}

// One that has clones stays, and is noted before its record goes.
absl::Status RbdPool::Images::DiscardSnapshot(const pool::VolumeRecord& record,
                                              const SnapshotName& name) {
  ASSIGN_OR_RETURN(const auto found, FindSnapshot(record));
  if (found) {
    ASSIGN_OR_RETURN(const bool gone, RemoveUnneededSnapshot(ceph_, name, found->ids));
    if (!gone) RETURN_IF_ERROR(NoteRetained(ceph_, name.ToString(), found->ids.ToString()));
  } else if (const auto known = KnownIds(record)) {
    // A kill may have left it without its name.
    RETURN_IF_ERROR(RemoveImageSnapshot(ceph_, name.image, *known).status());
  } else {
    RETURN_IF_ERROR(RemoveUnneededTrash(ceph_, name.image));
  }
  RemoveIfUnneeded(name);  // what needed it may be gone by now
  return absl::OkStatus();
}

// The parent is looked up first: what remains of it is known only by its note afterwards. Of a
// clone that lacks some of its parts it does not show; Repair looks at that one.
absl::Status RbdPool::Images::DiscardImage(const pool::VolumeRecord& record) {
  const std::string& image = record.image_name;
  std::optional<SnapshotName> parent;
  if (record.volume.source) {
    ASSIGN_OR_RETURN(parent, FindParent(image));
  }
  const absl::Status removed = pool_.common_->removals.Remove(ceph_, image);
  if (absl::IsFailedPrecondition(removed)) return Retain(image, removed);
  RETURN_IF_ERROR(removed);
  RETURN_IF_ERROR(RemoveCut(record));
  if (parent) RemoveIfUnneeded(*parent);
  return absl::OkStatus();
}

// The snapshot of a volume from which the clone was to be made, if the creation did not come to its
// note. Its name is the clone's own, which nothing else ever has.
absl::Status RbdPool::Images::RemoveCut(const pool::VolumeRecord& record) {
  const auto& source = record.volume.source;
  const bool cut = source && source->role == VolumeRole::kVolume && record.image_id.empty();
  if (!cut) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto sources, TrashTable::AllOf(ceph_, source->id.uuid));
  for (const auto& [key, one] : sources) {
    RETURN_IF_ERROR(RemoveCutOf(one.image_name, record));
  }
  ASSIGN_OR_RETURN(const auto retained, ListRetained(ceph_));
  for (const auto& [name, id] : retained) {
    if (UuidOfImage(name) == source->id.uuid) RETURN_IF_ERROR(RemoveCutOf(name, record));
  }
  return absl::OkStatus();
}

absl::Status RbdPool::Images::RemoveCutOf(const std::string& image,
                                          const pool::VolumeRecord& record) {
  const SnapshotName name{.image = image, .snapshot = record.image_name};
  ASSIGN_OR_RETURN(const auto id, ReadImageId(ceph_, image));
  ASSIGN_OR_RETURN(const auto snapshot, FindImageSnapshot(ceph_, name));
  if (!id || !snapshot) return RemoveUnneededTrash(ceph_, image);
  return RemoveUnneededSnapshot(ceph_, name, {.image = *id, .snapshot = snapshot->id}).status();
}

// The volume is deleted, and its image is still needed.
absl::Status RbdPool::Images::Retain(const std::string& image, const absl::Status& why) {
  ASSIGN_OR_RETURN(const auto snapshots, ListImageSnapshots(ceph_, image));
  ASSIGN_OR_RETURN(const auto id, ReadImageId(ceph_, image));
  if (!snapshots || !id) return absl::OkStatus();
  if (snapshots->empty()) return why;
  for (const ImageSnapshot& snapshot : *snapshots) {
    const bool ours = snapshot.kind == ImageSnapshot::Kind::kTrashed ||
                      (snapshot.kind == ImageSnapshot::Kind::kNamed && UuidOfImage(snapshot.name));
    if (ours) continue;
    return Unavailable(
        "image '{}' has snapshot '{}', which Holdfast did not make, so it cannot be removed; if "
        "the snapshot is not needed, remove it: rbd snap rm",
        image, snapshot.name);
  }
  RETURN_IF_ERROR(NoteRetained(ceph_, image, *id));
  RemoveIfUnneeded(image);  // what needed it may be gone by now
  return absl::OkStatus();
}

// What fails now is repeated by Repair.
void RbdPool::Images::RemoveIfUnneeded(const std::string& name) {
  const absl::Status removed = pool_.RemoveIfUnneeded(ceph_, name).status();
  if (!removed.ok()) LogWarning("'{}', which may be unneeded: {}", name, MessageOf(removed));
}

// Together with the image that it is of.
void RbdPool::Images::RemoveIfUnneeded(const SnapshotName& snapshot) {
  RemoveIfUnneeded(snapshot.ToString());
  RemoveIfUnneeded(snapshot.image);
}

}  // namespace holdfast::rbd
