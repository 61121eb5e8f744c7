// SPDX-License-Identifier: Apache-2.0
// How much of one kind of work is done at the same time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>

namespace holdfast {

// Thread-safe; outlives the places that it gives. Who has had a place for longer than `patience` is
// taken to hang and no longer counts, so that work that never ends does not keep the rest out
// permanently.
//
// Not std::counting_semaphore: that of libstdc++ before 13.3 can lose a wake-up (GCC bug 104928).
class Places final {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Places(unsigned count, Clock::duration patience = std::chrono::hours(24))
      : count_(count), patience_(patience) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  struct GiveBack {
    Clock::time_point taken;
    void operator()(Places* places) const { places->Give(taken); }
  };
  // Lasts as long as the work.
  using Place = std::unique_ptr<Places, GiveBack>;

  // Null when none became free in that time.
  [[nodiscard]] Place Take(std::chrono::milliseconds longest);

 private:
  void Give(Clock::time_point taken);

  const std::size_t count_;
  const Clock::duration patience_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::multiset<Clock::time_point> taken_;  // when each place was; guarded by mutex_
};

}  // namespace holdfast
