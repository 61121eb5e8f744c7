// SPDX-License-Identifier: Apache-2.0
// RBD images by librbd alone, as bare as the work can be.
#pragma once

#include <rados/librados.h>
#include <rbd/librbd.h>

#include <cstdint>
#include <string>

namespace bench {

// A connection to the cluster of `directory`/ceph.conf and its pool rbd, for all threads. Every
// function throws std::runtime_error when the cluster refuses.
class RawImages final {
 public:
  explicit RawImages(const std::string& directory);
  RawImages(const RawImages&) = delete;
  RawImages& operator=(const RawImages&) = delete;
  ~RawImages();

  // With the features that Holdfast's images have, without which they cannot be compared.
  void Create(const std::string& name, std::int64_t size);
  void Resize(const std::string& name, std::int64_t size);
  void Remove(const std::string& name);

 private:
  rados_t cluster_ = nullptr;
  rados_ioctx_t pool_ = nullptr;
  rbd_image_options_t options_ = nullptr;
};

}  // namespace bench
