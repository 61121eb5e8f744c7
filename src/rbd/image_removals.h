// SPDX-License-Identifier: Apache-2.0
// Removes images in bounded time.
//
// librbd removes an image in one call, which takes time in proportion to its objects and never
// returns if another client removes the same image at that time (seen in 16.2). A repeated call
// waits for the same removal.
#pragma once

#include <string>

#include "core/long_work.h"
#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

// Thread-safe. Removals that are still under way when this ends go on until the process ends.
class ImageRemovals final {
 public:
  // Removes the image. OK if there is none; UNAVAILABLE while a client has it open, and while it is
  // still being removed; otherwise as Cluster::Try.
  [[nodiscard]] absl::Status Remove(const CephPool& pool, const std::string& name);

 private:
  LongWork removals_{std::chrono::seconds(20)};  // by image; less than CSI's sidecars wait
};

}  // namespace holdfast::rbd
