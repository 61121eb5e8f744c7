// SPDX-License-Identifier: Apache-2.0
// A limit of bytes per second that several threads share.
#pragma once

#include <atomic>
#include <chrono>

#include "core/bytes.h"
#include "core/mutex.h"

namespace holdfast {

// Thread-safe.
class RateLimit final {
 public:
  // 0: none
  explicit RateLimit(Bytes per_second) : per_second_(per_second) {}

  // Waits until so many more bytes keep to the limit.
  void Take(Bytes bytes);
  // How many were taken so far.
  [[nodiscard]] Bytes taken() const { return taken_.load(); }

 private:
  using Clock = std::chrono::steady_clock;

  const Bytes per_second_;
  std::atomic<Bytes> taken_{0};
  Mutex mutex_;
  Clock::time_point free_at_ ABSL_GUARDED_BY(mutex_);  // what was taken before has passed by then
};

}  // namespace holdfast
