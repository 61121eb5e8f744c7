// SPDX-License-Identifier: Apache-2.0
// Room that was made by purging the trash and may not show in the cluster's statistics yet.
#pragma once

#include <chrono>
#include <deque>

#include "core/bytes.h"
#include "core/mutex.h"

namespace holdfast::rbd {

// Thread-safe.
class FreedRoom final {
 public:
  using Clock = std::chrono::steady_clock;

  // `now` is replaced in tests.
  explicit FreedRoom(Clock::time_point (*now)() = Clock::now) : now_(now) {}

  void Add(Bytes bytes);
  // The sum of what was added so lately that it may not be counted.
  [[nodiscard]] Bytes Recent();

 private:
  struct Freed {
    Clock::time_point at;
    Bytes bytes = 0;
  };
  Clock::time_point (*const now_)();
  Mutex mutex_;
  std::deque<Freed> freed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::rbd
