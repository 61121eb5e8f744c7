// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/key_lock.h"

namespace holdfast {
namespace key_lock_concurrency_test {

constexpr int kThreads = 8;
constexpr int kKeys = 3;
constexpr int kRounds = 300;

TEST_CASE("each of a few keys has one holder at a time among many threads") {
  KeyLock locks;
  std::array<int, kKeys> counters{};  // guarded only by the locks
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int round = 0; round < kRounds;) {
          const auto key = static_cast<std::size_t>((round + thread) % kKeys);
          const auto guard = locks.TryLock(std::to_string(key), "work");
          if (!guard.ok()) {
            ++refused;
            std::this_thread::yield();
            continue;
          }
          ++counters[key];
          std::this_thread::yield();
          ++round;
        }
      });
    }
  }
  CHECK(counters[0] + counters[1] + counters[2] == kThreads * kRounds);
  CHECK(refused > 0);
  for (int key = 0; key < kKeys; ++key) CHECK(locks.TryLock(std::to_string(key), "after").ok());
}

TEST_CASE("calls wait for work in the background, which does without where a call is") {
  KeyLock locks;
  std::array<int, kKeys> counters{};  // guarded only by the locks
  std::atomic<int> refused = 0;
  std::atomic<int> passed_over = 0;
  {
    std::jthread background([&] {
      for (int round = 0; round < kRounds;) {
        const auto key = static_cast<std::size_t>(round % kKeys);
        const auto guard = locks.TryLockInBackground(std::to_string(key), "tidying");
        if (!guard) {
          ++passed_over;
          std::this_thread::yield();
          continue;
        }
        ++counters[key];
        std::this_thread::yield();
        ++round;
      }
    });
    // One caller: it must never be refused because a call is running.
    std::jthread caller([&] {
      for (int round = 0; round < kRounds; ++round) {
        const auto key = static_cast<std::size_t>(round % kKeys);
        const auto guard = locks.TryLock(std::to_string(key), "work");
        if (!guard.ok()) ++refused;
        ++counters[key];
        std::this_thread::yield();
      }
    });
  }
  CHECK(refused == 0);
  CHECK(counters[0] + counters[1] + counters[2] == 2 * kRounds);
}

}  // namespace key_lock_concurrency_test
}  // namespace holdfast
