// SPDX-License-Identifier: Apache-2.0
// RBD images by librbd alone, as bare as the work can be.
#pragma once

#include <rados/librados.h>
#include <rbd/librbd.h>

#include <cstdint>
#include <functional>
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
  void CreateSnapshot(const std::string& image, const std::string& snapshot);
  void RemoveSnapshot(const std::string& image, const std::string& snapshot);
  // A clone of format 2.
  void Clone(const std::string& image, const std::string& snapshot, const std::string& name);

 private:
  void OnOpen(const std::string& name, const std::function<int(rbd_image_t)>& act);

  rados_t cluster_ = nullptr;
  rados_ioctx_t pool_ = nullptr;
  rbd_image_options_t options_ = nullptr;
  rbd_image_options_t clone_options_ = nullptr;
};

}  // namespace bench
