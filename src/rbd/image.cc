// SPDX-License-Identifier: Apache-2.0
#include "rbd/image.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>

#include "core/log.h"
#include "core/volume_id.h"
#include "rbd/image_snapshots.h"
#include "rbd/omap.h"
#include "rbd/open_image.h"

namespace holdfast::rbd {
namespace {

constexpr std::size_t kIdText = 64;
constexpr std::size_t kFirstWatchers = 8;   // room for them to begin with
constexpr std::size_t kFirstImages = 1024;  // room of a list to begin with

CallResult ReadSize(const CephPool& pool, rbd_image_t image, Bytes& size) {
  std::uint64_t found = 0;
  CallResult asked =
      pool.Try("read an image's size", [&] { return pool.library().rbd_get_size(image, &found); });
  size = static_cast<Bytes>(found);
  return asked;
}

CallResult ReadWatchers(const CephPool& pool, rbd_image_t image,
                        std::vector<std::string>& addresses) {
  const CephLibrary& library = pool.library();
  std::vector<rbd_image_watcher_t> watchers;
  std::size_t count = kFirstWatchers;
  CallResult asked;
  do {  // it says how much room it needs
    watchers.resize(count);
    asked = pool.Try("list an image's watchers",
                     [&] { return library.rbd_watchers_list(image, watchers.data(), &count); });
  } while (asked.error == ERANGE);
  if (!asked.status.ok()) return asked;
  for (std::size_t i = 0; i < count; ++i) addresses.emplace_back(watchers.at(i).addr);
  library.rbd_watchers_list_cleanup(watchers.data(), count);
  return asked;
}

CallResult ReadFacts(const CephPool& pool, rbd_image_t image, ImageFacts& facts) {
  char id[kIdText] = {};
  CallResult read = ReadSize(pool, image, facts.size);
  if (read.status.ok()) {
    read = pool.Try("read an image's id",
                    [&] { return pool.library().rbd_get_id(image, id, sizeof(id)); });
    facts.id = id;
  }
  if (read.status.ok()) {
    read = pool.Try("read an image's features",
                    [&] { return pool.library().rbd_get_features(image, &facts.features); });
  }
  return read.status.ok() ? ReadWatchers(pool, image, facts.watchers) : read;
}

// Calls `note` with the length of each extent from `begin` on that has data objects of the image
// itself, until it returns false.
absl::Status ForEachExtent(const CephPool& pool, rbd_image_t image, Bytes begin,
                           const std::function<bool(Bytes)>& note) {
  struct Walk {
    const std::function<bool(Bytes)>& note;
    bool ended = false;
  };
  Bytes size = 0;
  RETURN_IF_ERROR(ReadSize(pool, image, size).status);
  if (begin >= size) return absl::OkStatus();
  Walk walk{note};
  const auto step = [](std::uint64_t, std::size_t length, int exists, void* of) {
    auto& target = *static_cast<Walk*>(of);
    if (exists != 0) target.ended = !target.note(static_cast<Bytes>(length));
    return target.ended ? -ECANCELED : 0;
  };
  return pool
      .Try("look for data in an image",
           [&] {
             const int result = pool.library().rbd_diff_iterate2(
                 image, nullptr, static_cast<std::uint64_t>(begin),
                 static_cast<std::uint64_t>(size - begin), /*include_parent=*/0,
                 /*whole_object=*/1, step, &walk);
             return walk.ended ? 0 : result;
           })
      .status;
}

absl::Status Missing(const std::string& name) {
  return FailedPrecondition(
      "image '{}' is missing from the Ceph pool; it was removed outside Holdfast", name);
}

// librbd says of an image that it cannot move to the trash, too, that there is none (16.2).
absl::Status RequireGone(const CephPool& pool, const std::string& name) {
  ASSIGN_OR_RETURN(const auto facts, InspectImage(pool, name));
  if (!facts) return absl::OkStatus();
  return Unavailable(
      "image '{}' could not be removed; if the Ceph pool is full, make room or raise its quota",
      name);
}

bool IsThere(const CephPool& pool, const std::string& name) {
  const auto facts = InspectImage(pool, name);
  return !facts.ok() || facts->has_value();
}

}  // namespace

absl::Status MakeImage(const CephPool& pool, const std::string& name, Bytes size,
                       const std::string& data_pool) {
  const CephLibrary& library = pool.library();
  const ImageOptions options(library, data_pool);
  const CallResult made = pool.Try(fmt::format("make image '{}'", name), [&] {
    return library.rbd_create4(pool.io(), name.c_str(), static_cast<std::uint64_t>(size),
                               options.get());
  });
  if (made.error != EEXIST) return made.status;
  return AlreadyExists("image '{}' is there already, perhaps without some of its parts", name);
}

absl::StatusOr<std::optional<ImageFacts>> InspectImage(const CephPool& pool,
                                                       const std::string& name) {
  const OpenImage open(pool, name, /*read_only=*/true);
  ImageFacts facts;
  const CallResult read =
      open.opened().status.ok() ? ReadFacts(pool, open.image(), facts) : open.opened();
  if (read.error == ENOENT) return std::optional<ImageFacts>();  // or removed since
  RETURN_IF_ERROR(read.status);
  return facts;
}

absl::StatusOr<bool> HoldsData(const CephPool& pool, const std::string& name, Bytes begin) {
  const OpenImage open(pool, name, /*read_only=*/true);
  if (open.opened().error == ENOENT) return false;
  RETURN_IF_ERROR(open.opened().status);
  bool found = false;
  RETURN_IF_ERROR(ForEachExtent(pool, open.image(), begin, [&](Bytes) {
    found = true;
    return false;  // one extent is enough
  }));
  return found;
}

absl::StatusOr<Bytes> DataWithoutSnapshots(const CephPool& pool, const std::string& name) {
  ASSIGN_OR_RETURN(const auto snapshots, ListImageSnapshots(pool, name));
  if (!snapshots || !snapshots->empty()) return Bytes{0};
  const OpenImage open(pool, name, /*read_only=*/true);
  if (open.opened().error == ENOENT) return Bytes{0};
  RETURN_IF_ERROR(open.opened().status);
  Bytes sum = 0;
  RETURN_IF_ERROR(ForEachExtent(pool, open.image(), 0, [&](Bytes length) {
    sum += length;
    return true;
  }));
  return sum;
}

absl::Status GrowImage(const CephPool& pool, const std::string& name, Bytes size) {
  const OpenImage open(pool, name, /*read_only=*/false);
  if (open.opened().error == ENOENT) return Missing(name);
  RETURN_IF_ERROR(open.opened().status);
  Bytes present = 0;
  RETURN_IF_ERROR(ReadSize(pool, open.image(), present).status);
  if (present >= size) return absl::OkStatus();
  return pool
      .Try(fmt::format("grow image '{}'", name),
           [&] {
             return pool.library().rbd_resize2(open.image(), static_cast<std::uint64_t>(size),
                                               /*allow_shrink=*/false, nullptr, nullptr);
           })
      .status;
}

absl::Status MakeTrash(const CephPool& pool) {
  return ChangeOmap(pool, "rbd_trash", {}, "make the list of images that are being removed").status;
}

absl::Status RemoveImage(const CephPool& pool, const std::string& name) {
  const CallResult removed = pool.Try(fmt::format("remove image '{}'", name), [&] {
    return pool.library().rbd_remove(pool.io(), name.c_str());
  });
  if (removed.error == ENOENT) return RequireGone(pool, name);
  if (removed.error == ENOTEMPTY) {
    return FailedPrecondition("{}: it has snapshots", MessageOf(removed.status));
  }
  if (removed.error == EBUSY || removed.error == EROFS) {
    return Unavailable("{}: a client has it open", MessageOf(removed.status));
  }
  // librbd has many names for what it finds of an image that another client removes too.
  if (!absl::IsInternal(removed.status)) return removed.status;
  return WithCode(removed.status, absl::StatusCode::kUnavailable);
}

absl::StatusOr<std::vector<std::string>> ListImages(const CephPool& pool) {
  const CephLibrary& library = pool.library();
  std::vector<rbd_image_spec_t> images(kFirstImages);
  std::size_t count = images.size();
  CallResult listed;
  do {  // it says how much room it needs
    images.resize(count);
    listed = pool.Try("list images",
                      [&] { return library.rbd_list2(pool.io(), images.data(), &count); });
  } while (listed.error == ERANGE);
  RETURN_IF_ERROR(listed.status);
  std::vector<std::string> names;
  names.reserve(count);
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(images.at(i).name);
  library.rbd_image_spec_list_cleanup(images.data(), count);
  return names;
}

absl::Status ImageRemovals::Remove(const CephPool& pool, const std::string& name) {
  const absl::Status idle = removals_.Await(name);
  if (!idle.ok()) {
    if (IsThere(pool, name)) return idle;
    // A removal that outlives its image will never end.
    LogWarning("librbd does not come back from removing image '{}'; asking it again", name);
    removals_.Forget(name);
  }
  const auto removed = std::make_shared<absl::Status>();
  RETURN_IF_ERROR(removals_.Run(
      name, fmt::format("the removal of image '{}'", name),
      [removed, name, pool = pool.shared_from_this()] { *removed = RemoveImage(*pool, name); }));
  return *removed;
}

}  // namespace holdfast::rbd
