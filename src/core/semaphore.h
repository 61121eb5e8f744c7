// SPDX-License-Identifier: Apache-2.0
// A counting semaphore that limits concurrent work of one kind.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <set>

#include "core/mutex.h"

namespace holdfast {

// Thread-safe; outlives its permits. A permit that was taken longer than `patience` ago belongs to
// work that hangs; it no longer counts, because it must not block other work permanently.
//
// Not std::counting_semaphore: that of libstdc++ before 13.3 can lose a wake-up (GCC bug 104928).
class Semaphore final {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Semaphore(unsigned count, Clock::duration patience = std::chrono::hours(24))
      : count_(count), patience_(patience) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  struct Release {
    Clock::time_point taken;
    void operator()(Semaphore* semaphore) const { semaphore->Give(taken); }
  };
  // Lasts as long as the work.
  using Permit = std::unique_ptr<Semaphore, Release>;

  // Null when no permit became free in that time.
  [[nodiscard]] Permit Acquire(std::chrono::milliseconds longest);

 private:
  void Give(Clock::time_point taken);

  const std::size_t count_;
  const Clock::duration patience_;
  Mutex mutex_;
  CondVar freed_;
  std::multiset<Clock::time_point> taken_ ABSL_GUARDED_BY(mutex_);  // when each permit was
};

}  // namespace holdfast
