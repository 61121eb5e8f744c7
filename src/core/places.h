// SPDX-License-Identifier: Apache-2.0
// How much of one kind of work is done at the same time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace holdfast {

// Thread-safe; outlives the places that it gives.
//
// Not std::counting_semaphore: that of libstdc++ before 13.3 can lose a wake-up (GCC bug 104928).
class Places final {
 public:
  explicit Places(unsigned count) : free_(count) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  struct GiveBack {
    void operator()(Places* places) const { places->Give(); }
  };
  // Lasts as long as the work.
  using Place = std::unique_ptr<Places, GiveBack>;

  // Null when none became free in that time.
  [[nodiscard]] Place Take(std::chrono::milliseconds longest);

 private:
  void Give();

  std::mutex mutex_;
  std::condition_variable freed_;
  unsigned free_;  // guarded by mutex_
};

}  // namespace holdfast
