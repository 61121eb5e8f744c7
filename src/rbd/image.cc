// SPDX-License-Identifier: Apache-2.0
#include "rbd/image.h"

#include <endian.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/log.h"
#include "core/volume_id.h"
#include "rbd/omap.h"

namespace holdfast::rbd {
namespace {

constexpr std::size_t kIdText = 64;
constexpr std::size_t kFirstWatchers = 8;   // room for them to begin with
constexpr std::size_t kFirstImages = 1024;  // room of a list to begin with

// An image that is open, for as long as this lives.
class OpenImage final {
 public:
  OpenImage(const CephPool& pool, const std::string& name, bool read_only) : pool_(pool) {
    const CephLibrary& library = pool.library();
    const auto open = read_only ? library.rbd_open_read_only : library.rbd_open;
    opened_ = pool.Try(fmt::format("open image '{}'", name),
                       [&] { return open(pool.io(), name.c_str(), &image_, nullptr); });
  }
  ~OpenImage() {
    if (image_ != nullptr) pool_.library().rbd_close(image_);
  }
  OpenImage(const OpenImage&) = delete;
  OpenImage& operator=(const OpenImage&) = delete;

  [[nodiscard]] const CallResult& opened() const { return opened_; }
  [[nodiscard]] rbd_image_t image() const { return image_; }

 private:
  const CephPool& pool_;
  rbd_image_t image_ = nullptr;
  CallResult opened_;
};

class ImageOptions final {
 public:
  explicit ImageOptions(const CephLibrary& library) : library_(library) {
    library_.rbd_image_options_create(&options_);
  }
  ~ImageOptions() { library_.rbd_image_options_destroy(options_); }
  ImageOptions(const ImageOptions&) = delete;
  ImageOptions& operator=(const ImageOptions&) = delete;
  [[nodiscard]] rbd_image_options_t get() const { return options_; }

 private:
  const CephLibrary& library_;
  rbd_image_options_t options_ = nullptr;
};

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
  const ImageOptions options(library);
  library.rbd_image_options_set_uint64(options.get(), RBD_IMAGE_OPTION_FEATURES, kImageFeatures);
  if (!data_pool.empty()) {
    library.rbd_image_options_set_string(options.get(), RBD_IMAGE_OPTION_DATA_POOL,
                                         data_pool.c_str());
  }
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

absl::StatusOr<std::optional<std::string>> ReadImageId(const CephPool& pool,
                                                       const std::string& name) {
  // As the kernel's client asks (drivers/block/rbd.c, rbd_dev_image_id): the object of this name
  // answers with the id's length, four bytes, little-endian, and the id.
  std::array<char, sizeof(std::uint32_t) + kIdText> answer{};
  const std::string object = "rbd_id." + name;
  int length = 0;
  const CallResult asked = pool.Try(fmt::format("read the id of image '{}'", name), [&] {
    length = pool.library().rados_exec(pool.io(), object.c_str(), "rbd", "get_id", nullptr, 0,
                                       answer.data(), answer.size());
    return length;
  });
  if (asked.error == ENOENT) return std::optional<std::string>();
  RETURN_IF_ERROR(asked.status);
  std::uint32_t size = 0;
  std::memcpy(&size, answer.data(), sizeof(size));
  size = le32toh(size);
  if (size == 0 || sizeof(size) + size != static_cast<std::size_t>(length)) {
    return Internal("cannot parse the id of image '{}'", name);
  }
  return std::optional<std::string>(std::in_place, answer.data() + sizeof(size), size);
}

absl::StatusOr<std::optional<Bytes>> ReadImageSize(const CephPool& pool,
                                                   const std::string& image_id) {
  // As the kernel's client asks (drivers/block/rbd.c, _rbd_dev_v2_snap_size): of the image itself
  // instead of a snapshot, the header answers with the order, one byte, and the size, eight bytes.
  const std::uint64_t no_snapshot = htole64(LIBRADOS_SNAP_HEAD);
  std::array<char, 1 + sizeof(std::uint64_t)> answer{};
  const std::string object = "rbd_header." + image_id;
  int length = 0;
  const CallResult asked = pool.Try(fmt::format("read the size of image {}", image_id), [&] {
    length = pool.library().rados_exec(pool.io(), object.c_str(), "rbd", "get_size",
                                       reinterpret_cast<const char*>(&no_snapshot),
                                       sizeof(no_snapshot), answer.data(), answer.size());
    return length;
  });
  if (asked.error == ENOENT) return std::optional<Bytes>();
  RETURN_IF_ERROR(asked.status);
  if (static_cast<std::size_t>(length) != answer.size()) {
    return Internal("cannot parse the size of image {}", image_id);
  }
  std::uint64_t size = 0;
  std::memcpy(&size, answer.data() + 1, sizeof(size));
  return std::optional<Bytes>(static_cast<Bytes>(le64toh(size)));
}

absl::StatusOr<bool> HoldsData(const CephPool& pool, const std::string& name, Bytes begin) {
  const OpenImage open(pool, name, /*read_only=*/true);
  if (open.opened().error == ENOENT) return false;
  RETURN_IF_ERROR(open.opened().status);
  Bytes size = 0;
  RETURN_IF_ERROR(ReadSize(pool, open.image(), size).status);
  if (begin >= size) return false;
  bool found = false;
  const auto note = [](std::uint64_t, std::size_t, int exists, void* noted) {
    if (exists != 0) *static_cast<bool*>(noted) = true;
    return exists != 0 ? -ECANCELED : 0;  // one extent is enough
  };
  const CallResult looked = pool.Try(fmt::format("look for data in image '{}'", name), [&] {
    const int result =
        pool.library().rbd_diff_iterate2(open.image(), nullptr, static_cast<std::uint64_t>(begin),
                                         static_cast<std::uint64_t>(size - begin),
                                         /*include_parent=*/0, /*whole_object=*/1, note, &found);
    return found ? 0 : result;
  });
  RETURN_IF_ERROR(looked.status);
  return found;
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
