// SPDX-License-Identifier: Apache-2.0
#include "rbd/image_snapshots.h"

#include <algorithm>
#include <cerrno>
#include <span>

#include "rbd/open_image.h"

namespace holdfast::rbd {
namespace {

constexpr int kFirstSnapshots = 16;  // room for them to begin with
constexpr std::uint64_t kCloneFormat = 2;

int NoProgress(std::uint64_t, std::uint64_t, void*) { return 0; }

ImageSnapshot::Kind KindOf(rbd_snap_namespace_type_t type) {
  if (type == RBD_SNAP_NAMESPACE_TYPE_USER) return ImageSnapshot::Kind::kNamed;
  return type == RBD_SNAP_NAMESPACE_TYPE_TRASH ? ImageSnapshot::Kind::kTrashed
                                               : ImageSnapshot::Kind::kOther;
}

CallResult ReadSnapshots(const CephPool& pool, rbd_image_t image,
                         std::vector<ImageSnapshot>& snapshots) {
  const CephLibrary& library = pool.library();
  std::vector<rbd_snap_info_t> found;
  int count = kFirstSnapshots;
  CallResult listed;
  do {  // it says how much room it needs, with one more for the end of the list
    found.assign(static_cast<std::size_t>(count), {});
    listed = pool.Try("list an image's snapshots", [&] {
      const int listed_count = library.rbd_snap_list(image, found.data(), &count);
      if (listed_count >= 0) count = listed_count;
      return listed_count;
    });
  } while (listed.error == ERANGE);
  if (!listed.status.ok()) return listed;
  for (const rbd_snap_info_t& info : std::span(found).first(static_cast<std::size_t>(count))) {
    rbd_snap_namespace_type_t type = RBD_SNAP_NAMESPACE_TYPE_USER;
    const CallResult asked = pool.Try("read the kind of an image's snapshot", [&] {
      return library.rbd_snap_get_namespace_type(image, info.id, &type);
    });
    if (asked.error == ENOENT) continue;  // removed since
    if (!asked.status.ok()) {
      listed = asked;
      break;
    }
    snapshots.push_back({info.id, info.name, static_cast<Bytes>(info.size), KindOf(type)});
  }
  library.rbd_snap_list_end(found.data());
  return listed;
}

// Whether images are cloned from it; false, too, if it is gone. The image, open to be read, is left
// showing that snapshot.
absl::StatusOr<bool> HasClones(const CephPool& pool, rbd_image_t image, std::uint64_t snapshot) {
  const CephLibrary& library = pool.library();
  const CallResult set = pool.Try("look at an image's snapshot",
                                  [&] { return library.rbd_snap_set_by_id(image, snapshot); });
  if (set.error == ENOENT) return false;
  RETURN_IF_ERROR(set.status);
  std::size_t count = 0;
  const CallResult asked = pool.Try("list a snapshot's clones", [&] {
    return library.rbd_list_children3(image, nullptr, &count);
  });
  if (asked.error == ERANGE) return true;
  if (asked.error == ENOENT) return false;
  RETURN_IF_ERROR(asked.status);
  return count != 0;
}

std::optional<ImageSnapshot> Named(const std::vector<ImageSnapshot>& snapshots,
                                   const std::string& name) {
  const auto found = std::ranges::find_if(snapshots, [&](const ImageSnapshot& snapshot) {
    return snapshot.kind == ImageSnapshot::Kind::kNamed && snapshot.name == name;
  });
  return found == snapshots.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

absl::StatusOr<std::optional<std::vector<ImageSnapshot>>> ListImageSnapshots(
    const CephPool& pool, const std::string& image) {
  const OpenImage open(pool, image, /*read_only=*/true);
  if (open.opened().error == ENOENT) return std::optional<std::vector<ImageSnapshot>>();
  RETURN_IF_ERROR(open.opened().status);
  std::vector<ImageSnapshot> snapshots;
  RETURN_IF_ERROR(ReadSnapshots(pool, open.image(), snapshots).status);
  return snapshots;
}

absl::StatusOr<std::optional<ImageSnapshot>> FindImageSnapshot(const CephPool& pool,
                                                               const SnapshotName& name) {
  ASSIGN_OR_RETURN(const auto snapshots, ListImageSnapshots(pool, name.image));
  return snapshots ? Named(*snapshots, name.snapshot) : std::nullopt;
}

absl::StatusOr<ImageSnapshot> CutImageSnapshot(const CephPool& pool, const SnapshotName& name) {
  const OpenImage open(pool, name.image, /*read_only=*/false);
  if (open.opened().error == ENOENT) {
    return FailedPrecondition(
        "image '{}' is missing from the Ceph pool; it was removed outside Holdfast", name.image);
  }
  RETURN_IF_ERROR(open.opened().status);
  const CallResult cut = pool.Try(fmt::format("make snapshot '{}'", name.ToString()), [&] {
    return pool.library().rbd_snap_create2(open.image(), name.snapshot.c_str(), 0, NoProgress,
                                           nullptr);
  });
  if (cut.error != EEXIST) RETURN_IF_ERROR(cut.status);  // no other call has that name
  std::vector<ImageSnapshot> snapshots;
  RETURN_IF_ERROR(ReadSnapshots(pool, open.image(), snapshots).status);
  const auto found = Named(snapshots, name.snapshot);
  if (found) return *found;
  return Aborted("snapshot '{}' was removed while it was made; try again", name.ToString());
}

absl::StatusOr<bool> RemoveImageSnapshot(const CephPool& pool, const std::string& image,
                                         const SnapshotIds& ids) {
  ASSIGN_OR_RETURN(const Trashing trashing, TrashSnapshotWithoutClones(pool, ids));
  if (trashing != Trashing::kDone) return trashing == Trashing::kIsGone;
  const OpenImage open(pool, image, /*read_only=*/false);
  if (open.opened().error == ENOENT) return true;
  RETURN_IF_ERROR(open.opened().status);
  const CallResult removed =
      pool.Try(fmt::format("remove snapshot {} of image '{}'", ids.snapshot, image),
               [&] { return pool.library().rbd_snap_remove_by_id(open.image(), ids.snapshot); });
  if (removed.error != ENOENT) RETURN_IF_ERROR(removed.status);
  return true;
}

absl::StatusOr<bool> HasClones(const CephPool& pool, const std::string& image) {
  const OpenImage open(pool, image, /*read_only=*/true);
  if (open.opened().error == ENOENT) return false;
  RETURN_IF_ERROR(open.opened().status);
  std::vector<ImageSnapshot> snapshots;
  RETURN_IF_ERROR(ReadSnapshots(pool, open.image(), snapshots).status);
  for (const ImageSnapshot& snapshot : snapshots) {
    ASSIGN_OR_RETURN(const bool has, HasClones(pool, open.image(), snapshot.id));
    if (has) return true;
  }
  return false;
}

absl::Status RemoveUnneededTrash(const CephPool& pool, const std::string& image) {
  ASSIGN_OR_RETURN(const auto id, ReadImageId(pool, image));
  ASSIGN_OR_RETURN(const auto snapshots, ListImageSnapshots(pool, image));
  if (!id || !snapshots) return absl::OkStatus();
  for (const ImageSnapshot& snapshot : *snapshots) {
    if (snapshot.kind != ImageSnapshot::Kind::kTrashed) continue;
    const SnapshotIds ids{.image = *id, .snapshot = snapshot.id};
    RETURN_IF_ERROR(RemoveImageSnapshot(pool, image, ids).status());
  }
  return absl::OkStatus();
}

absl::Status CloneImage(const CephPool& pool, const SnapshotName& parent, const std::string& name,
                        const std::string& data_pool) {
  const CephLibrary& library = pool.library();
  ImageOptions options(library, data_pool);
  options.Set(RBD_IMAGE_OPTION_CLONE_FORMAT, kCloneFormat);
  const CallResult cloned =
      pool.Try(fmt::format("clone image '{}' from '{}'", name, parent.ToString()), [&] {
        return library.rbd_clone3(pool.io(), parent.image.c_str(), parent.snapshot.c_str(),
                                  pool.io(), name.c_str(), options.get());
      });
  if (cloned.error == EEXIST) {
    return AlreadyExists("image '{}' is there already, perhaps without some of its parts", name);
  }
  if (cloned.error == ENOENT) {
    return FailedPrecondition("there is no snapshot '{}' in the Ceph pool any more",
                              parent.ToString());
  }
  return cloned.status;
}

absl::Status FlattenImage(const CephPool& pool, const std::string& image,
                          const std::function<void(Bytes)>& note) {
  struct Progress {
    const std::function<void(Bytes)>& note;
    Bytes size = 0;
  };
  const OpenImage open(pool, image, /*read_only=*/false);
  RETURN_IF_ERROR(open.opened().status);
  std::uint64_t size = 0;
  RETURN_IF_ERROR(pool.Try("read an image's size",
                           [&] { return pool.library().rbd_get_size(open.image(), &size); })
                      .status);
  Progress progress{note, static_cast<Bytes>(size)};
  // It counts objects.
  const auto reached = [](std::uint64_t done, std::uint64_t all, void* of) {
    const auto& target = *static_cast<const Progress*>(of);
    if (all == 0) return 0;
    target.note(static_cast<Bytes>(static_cast<double>(target.size) * static_cast<double>(done) /
                                   static_cast<double>(all)));
    return 0;
  };
  const CallResult flattened = pool.Try(fmt::format("flatten image '{}'", image), [&] {
    return pool.library().rbd_flatten_with_progress(open.image(), reached, &progress);
  });
  return flattened.error == EINVAL ? absl::OkStatus() : flattened.status;  // it has no parent
}

}  // namespace holdfast::rbd
