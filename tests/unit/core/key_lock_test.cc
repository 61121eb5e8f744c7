// SPDX-License-Identifier: Apache-2.0
#include "core/key_lock.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast {
namespace key_lock_test {

TEST_CASE("a held key is refused at once with the operation that holds it") {
  KeyLock locks;
  const auto first = locks.TryLock("v1", "NodeStageVolume");
  REQUIRE(first.ok());
  const auto second = locks.TryLock("v1", "DeleteVolume");
  REQUIRE_FALSE(second.ok());
  CHECK(second.status().code() == absl::StatusCode::kAborted);
  CHECK_THAT(MessageOf(second.status()),
             Catch::Contains("'v1'") && Catch::Contains("NodeStageVolume"));
  CHECK(locks.TryLock("v2", "DeleteVolume").ok());
}

TEST_CASE("a key is free again when its guard goes") {
  KeyLock locks;
  {
    const auto guard = locks.TryLock("v1", "a");
    REQUIRE(guard.ok());
  }
  CHECK(locks.TryLock("v1", "b").ok());
  CHECK(locks.TryLock("v1", "c").ok());
}

TEST_CASE("a moved guard holds the key once, and a refused call does not free it") {
  KeyLock locks;
  auto guard = locks.TryLock("v1", "a");
  REQUIRE(guard.ok());
  {
    const KeyLock::Guard moved = *std::move(guard);
    CHECK_FALSE(locks.TryLock("v1", "b").ok());
    CHECK_FALSE(locks.TryLock("v1", "b").ok());
  }
  const auto again = locks.TryLock("v1", "c");
  REQUIRE(again.ok());
  guard = absl::CancelledError();  // the moved-from guard is destroyed and releases nothing
  CHECK_FALSE(locks.TryLock("v1", "d").ok());
}

TEST_CASE("one of many threads holds a key at a time") {
  constexpr int kThreads = 8;
  constexpr int kRounds = 200;
  KeyLock locks;
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  const auto work = [&] {
    for (int round = 0; round < kRounds;) {
      const auto guard = locks.TryLock("v1", "work");
      if (!guard.ok()) {
        std::this_thread::yield();
        continue;
      }
      if (inside.fetch_add(1) != 0) overlapped = true;
      inside.fetch_sub(1);
      ++round;
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  threads.clear();
  CHECK_FALSE(overlapped);
}

TEST_CASE("work in the background does without a key that is held") {
  KeyLock locks;
  {
    const auto call = locks.TryLock("v1", "a call");
    CHECK_FALSE(locks.TryLockInBackground("v1", "tidying"));
    CHECK(locks.TryLockInBackground("v2", "tidying"));
  }
  const auto background = locks.TryLockInBackground("v1", "tidying");
  CHECK(background);
  CHECK_FALSE(locks.TryLockInBackground("v1", "more tidying"));
}

TEST_CASE("a call waits for work in the background, but not for ever") {
  KeyLock locks;
  std::optional<KeyLock::Guard> background = locks.TryLockInBackground("v1", "tidying");
  REQUIRE(background);
  const auto refused = locks.TryLock("v1", "a call");
  CHECK(absl::IsAborted(refused.status()));
  CHECK_THAT(MessageOf(refused.status()), Catch::Contains("busy with tidying"));
  std::atomic<bool> granted = false;
  std::jthread caller([&] { granted = locks.TryLock("v1", "a call").ok(); });
  background.reset();
  caller.join();
  CHECK(granted);
}

}  // namespace key_lock_test
}  // namespace holdfast
