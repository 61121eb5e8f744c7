// SPDX-License-Identifier: Apache-2.0
#include "rbd/image.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace holdfast::rbd {
namespace {

constexpr std::size_t kIdText = 64;
constexpr std::size_t kMaxWatchers = 64;

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

absl::StatusOr<Bytes> SizeOf(const CephPool& pool, rbd_image_t image) {
  std::uint64_t size = 0;
  const CallResult asked =
      pool.Try("read an image's size", [&] { return pool.library().rbd_get_size(image, &size); });
  RETURN_IF_ERROR(asked.status);
  return static_cast<Bytes>(size);
}

absl::StatusOr<std::vector<std::string>> Watchers(const CephPool& pool, rbd_image_t image) {
  const CephLibrary& library = pool.library();
  std::array<rbd_image_watcher_t, kMaxWatchers> watchers{};
  std::size_t count = watchers.size();
  const CallResult asked = pool.Try("list an image's watchers", [&] {
    return library.rbd_watchers_list(image, watchers.data(), &count);
  });
  RETURN_IF_ERROR(asked.status);
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < count; ++i) addresses.emplace_back(watchers.at(i).addr);
  library.rbd_watchers_list_cleanup(watchers.data(), count);
  return addresses;
}

absl::Status Missing(const std::string& name) {
  return FailedPrecondition("image '{}' is missing from the Ceph pool; somebody removed it", name);
}

}  // namespace

std::string ImageName(const std::string& uuid) { return "holdfast-" + uuid; }

absl::Status MakeImage(const CephPool& pool, const std::string& name, Bytes size,
                       const std::string& data_pool) {
  const CephLibrary& library = pool.library();
  const ImageOptions options(library);
  library.rbd_image_options_set_uint64(options.get(), RBD_IMAGE_OPTION_FEATURES, kImageFeatures);
  if (!data_pool.empty()) {
    library.rbd_image_options_set_string(options.get(), RBD_IMAGE_OPTION_DATA_POOL,
                                         data_pool.c_str());
  }
  const auto make = [&] {
    return pool.Try(fmt::format("make image '{}'", name), [&] {
      return library.rbd_create4(pool.io(), name.c_str(), static_cast<std::uint64_t>(size),
                                 options.get());
    });
  };
  const CallResult made = make();
  if (made.error != EEXIST) return made.status;
  ASSIGN_OR_RETURN(const auto present, InspectImage(pool, name));
  if (present && present->size == size) return absl::OkStatus();
  if (present) return AlreadyExists("image '{}' is there with another size", name);
  // Its name is taken, but it cannot be opened: a creation that was cut short.
  RETURN_IF_ERROR(RemoveImage(pool, name));
  return make().status;
}

absl::StatusOr<std::optional<ImageFacts>> InspectImage(const CephPool& pool,
                                                       const std::string& name) {
  const OpenImage open(pool, name, /*read_only=*/true);
  if (open.opened().error == ENOENT) return std::optional<ImageFacts>();
  RETURN_IF_ERROR(open.opened().status);
  ImageFacts facts;
  ASSIGN_OR_RETURN(facts.size, SizeOf(pool, open.image()));
  char id[kIdText] = {};
  const CallResult identified = pool.Try("read an image's id", [&] {
    return pool.library().rbd_get_id(open.image(), id, sizeof(id));
  });
  RETURN_IF_ERROR(identified.status);
  facts.id = id;
  const CallResult described = pool.Try("read an image's features", [&] {
    return pool.library().rbd_get_features(open.image(), &facts.features);
  });
  RETURN_IF_ERROR(described.status);
  ASSIGN_OR_RETURN(facts.watchers, Watchers(pool, open.image()));
  return facts;
}

absl::Status GrowImage(const CephPool& pool, const std::string& name, Bytes size) {
  const OpenImage open(pool, name, /*read_only=*/false);
  if (open.opened().error == ENOENT) return Missing(name);
  RETURN_IF_ERROR(open.opened().status);
  ASSIGN_OR_RETURN(const Bytes present, SizeOf(pool, open.image()));
  if (present >= size) return absl::OkStatus();
  return pool
      .Try(fmt::format("grow image '{}'", name),
           [&] {
             return pool.library().rbd_resize2(open.image(), static_cast<std::uint64_t>(size),
                                               /*allow_shrink=*/false, nullptr, nullptr);
           })
      .status;
}

absl::Status RemoveImage(const CephPool& pool, const std::string& name) {
  const CallResult removed = pool.Try(fmt::format("remove image '{}'", name), [&] {
    return pool.library().rbd_remove(pool.io(), name.c_str());
  });
  if (removed.error == ENOENT) return absl::OkStatus();
  if (removed.error != EBUSY && removed.error != EROFS) return removed.status;
  return Unavailable("{}: a client has it open", MessageOf(removed.status));
}

}  // namespace holdfast::rbd
