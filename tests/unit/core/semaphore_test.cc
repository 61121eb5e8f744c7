// SPDX-License-Identifier: Apache-2.0
#include "core/semaphore.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace holdfast {
namespace semaphore_test {

using namespace std::chrono_literals;

TEST_CASE("no more than the given number have a permit") {
  Semaphore permits(2);
  const Semaphore::Permit first = permits.Acquire(0ms);
  Semaphore::Permit second = permits.Acquire(0ms);
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(permits.Acquire(1ms) == nullptr);
  second.reset();
  CHECK(permits.Acquire(0ms) != nullptr);
}

TEST_CASE("who has had a permit for too long keeps nobody out, and gives nothing back twice") {
  Semaphore permits(1, 20ms);
  Semaphore::Permit hanging = permits.Acquire(0ms);
  Semaphore::Permit next = permits.Acquire(1min);  // as soon as the first one has lasted too long
  REQUIRE(next != nullptr);
  hanging.reset();
  next.reset();
  const Semaphore::Permit third = permits.Acquire(0ms);
  REQUIRE(third != nullptr);
}

TEST_CASE("who waits gets the permit that is given back") {
  Semaphore permits(1);
  std::atomic<int> inside{0};
  std::atomic<int> done{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 8; ++i) {
    workers.emplace_back([&] {
      const Semaphore::Permit permit = permits.Acquire(1min);
      if (permit == nullptr || ++inside != 1) return;
      --inside;
      ++done;
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(done == 8);
}

}  // namespace semaphore_test
}  // namespace holdfast
