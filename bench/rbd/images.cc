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

int NoProgress(std::uint64_t, std::uint64_t, void*) { return 0; }

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
  rbd_image_options_create(&clone_options_);
  Check(rbd_image_options_set_uint64(clone_options_, RBD_IMAGE_OPTION_FEATURES, kFeatures),
        "features");
  Check(rbd_image_options_set_uint64(clone_options_, RBD_IMAGE_OPTION_CLONE_FORMAT, 2), "format");
}

RawImages::~RawImages() {
  rbd_image_options_destroy(clone_options_);
  rbd_image_options_destroy(options_);
  rados_ioctx_destroy(pool_);
  rados_shutdown(cluster_);
}

void RawImages::Create(const std::string& name, std::int64_t size) {
  Check(rbd_create4(pool_, name.c_str(), static_cast<std::uint64_t>(size), options_),
        "create " + name);
}

void RawImages::OnOpen(const std::string& name, const std::function<int(rbd_image_t)>& act) {
  rbd_image_t image = nullptr;
  Check(rbd_open(pool_, name.c_str(), &image, nullptr), "open " + name);
  const int done = act(image);
  Check(rbd_close(image), "close " + name);
  Check(done, "change " + name);
}

void RawImages::Resize(const std::string& name, std::int64_t size) {
  OnOpen(name,
         [&](rbd_image_t image) { return rbd_resize(image, static_cast<std::uint64_t>(size)); });
}

void RawImages::CreateSnapshot(const std::string& image, const std::string& snapshot) {
  OnOpen(image, [&](rbd_image_t open) {
    return rbd_snap_create2(open, snapshot.c_str(), 0, NoProgress, nullptr);
  });
}

void RawImages::RemoveSnapshot(const std::string& image, const std::string& snapshot) {
  OnOpen(image, [&](rbd_image_t open) {
    return rbd_snap_remove2(open, snapshot.c_str(), 0, NoProgress, nullptr);
  });
}

void RawImages::Clone(const std::string& image, const std::string& snapshot,
                      const std::string& name) {
  Check(rbd_clone3(pool_, image.c_str(), snapshot.c_str(), pool_, name.c_str(), clone_options_),
        "clone " + name);
}

void RawImages::Remove(const std::string& name) {
  Check(rbd_remove(pool_, name.c_str()), "remove " + name);
}

}  // namespace bench
