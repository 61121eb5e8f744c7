// SPDX-License-Identifier: Apache-2.0
// Makes clones independent of their parents, in bounded time for each call.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "core/bytes.h"
#include "core/long_work.h"
#include "core/mutex.h"
#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

// Thread-safe. What is under way when this ends continues until it is done or the process ends;
// after that another call begins again, and finds what was copied.
class ImageFlattening final {
 public:
  // Starts it, or continues to wait, for half a second. How far the image of `size` bytes has come,
  // never up to its end: that it has no parent any more shows in the image. Errors as Cluster::Try.
  [[nodiscard]] absl::StatusOr<Bytes> Continue(const CephPool& pool, const std::string& image,
                                               Bytes size);

 private:
  struct Progress {
    std::atomic<Bytes> reached{0};
    absl::Status status;  // when it has ended
  };

  LongWork work_{std::chrono::milliseconds(500)};  // by image
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Progress>> under_way_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::rbd
