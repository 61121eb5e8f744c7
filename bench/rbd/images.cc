// SPDX-License-Identifier: Apache-2.0
#include "rbd/images.h"

#include <rbd/features.h>

#include <cerrno>

#include "common/workload.h"

namespace bench {
namespace {

constexpr std::uint64_t kFeatures = RBD_FEATURE_LAYERING | RBD_FEATURE_EXCLUSIVE_LOCK |
                                    RBD_FEATURE_OBJECT_MAP | RBD_FEATURE_FAST_DIFF |
                                    RBD_FEATURE_DEEP_FLATTEN;

void Check(int result, const std::string& what) {
  if (result >= 0) return;
  errno = -result;
  Fail(what);
}

}  // namespace

RawImages::RawImages(const std::string& directory) {
  Check(rados_create2(&cluster_, "ceph", "client.admin", 0), "rados_create2");
  Check(rados_conf_read_file(cluster_, (directory + "/ceph.conf").c_str()), "read ceph.conf");
  Check(rados_connect(cluster_), "connect");
  Check(rados_ioctx_create(cluster_, "rbd", &pool_), "open the pool");
  rbd_image_options_create(&options_);
  Check(rbd_image_options_set_uint64(options_, RBD_IMAGE_OPTION_FEATURES, kFeatures), "features");
}

RawImages::~RawImages() {
  rbd_image_options_destroy(options_);
  rados_ioctx_destroy(pool_);
  rados_shutdown(cluster_);
}

void RawImages::Create(const std::string& name, std::int64_t size) {
  Check(rbd_create4(pool_, name.c_str(), static_cast<std::uint64_t>(size), options_),
        "create " + name);
}

void RawImages::Resize(const std::string& name, std::int64_t size) {
  rbd_image_t image = nullptr;
  Check(rbd_open(pool_, name.c_str(), &image, nullptr), "open " + name);
  const int resized = rbd_resize(image, static_cast<std::uint64_t>(size));
  Check(rbd_close(image), "close " + name);
  Check(resized, "resize " + name);
}

void RawImages::Remove(const std::string& name) {
  Check(rbd_remove(pool_, name.c_str()), "remove " + name);
}

}  // namespace bench
