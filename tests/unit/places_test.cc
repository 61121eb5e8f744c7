// SPDX-License-Identifier: Apache-2.0
#include "core/places.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST_CASE("no more than the given number have a place") {
  Places places(2);
  const Places::Place first = places.Take(0ms);
  Places::Place second = places.Take(0ms);
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(places.Take(1ms) == nullptr);
  second.reset();
  CHECK(places.Take(0ms) != nullptr);
}

TEST_CASE("who has had a place for too long keeps nobody out, and gives nothing back twice") {
  Places places(1, 20ms);
  Places::Place hanging = places.Take(0ms);
  Places::Place next = places.Take(1min);  // as soon as the first one has lasted too long
  REQUIRE(next != nullptr);
  hanging.reset();
  next.reset();
  const Places::Place third = places.Take(0ms);
  REQUIRE(third != nullptr);
}

TEST_CASE("who waits gets the place that is given back") {
  Places places(1);
  std::atomic<int> inside{0};
  std::atomic<int> done{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 8; ++i) {
    workers.emplace_back([&] {
      const Places::Place place = places.Take(1min);
      if (place == nullptr || ++inside != 1) return;
      --inside;
      ++done;
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(done == 8);
}

}  // namespace
}  // namespace holdfast
