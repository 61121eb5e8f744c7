// SPDX-License-Identifier: Apache-2.0
// What librbd needs for a call on an image: the image, opened, and the options of a new one.
#pragma once

#include <string>

#include "rbd/ceph_pool.h"
#include "rbd/image.h"

namespace holdfast::rbd {

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
  // `data_pool` is empty where the image's own pool has its data, too.
  ImageOptions(const CephLibrary& library, const std::string& data_pool) : library_(library) {
    library_.rbd_image_options_create(&options_);
    Set(RBD_IMAGE_OPTION_FEATURES, kImageFeatures);
    if (data_pool.empty()) return;
    library_.rbd_image_options_set_string(options_, RBD_IMAGE_OPTION_DATA_POOL, data_pool.c_str());
  }
  ~ImageOptions() { library_.rbd_image_options_destroy(options_); }
  ImageOptions(const ImageOptions&) = delete;
  ImageOptions& operator=(const ImageOptions&) = delete;

  void Set(int option, std::uint64_t value) {
    library_.rbd_image_options_set_uint64(options_, option, value);
  }
  [[nodiscard]] rbd_image_options_t get() const { return options_; }

 private:
  const CephLibrary& library_;
  rbd_image_options_t options_ = nullptr;
};

}  // namespace holdfast::rbd
