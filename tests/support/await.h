// SPDX-License-Identifier: Apache-2.0
// Waiting for other threads.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

namespace holdfast::test {

// Longer than any wait of a test.
inline constexpr std::chrono::seconds kPatience{30};

inline std::chrono::steady_clock::time_point Patience() {
  return std::chrono::steady_clock::now() + kPatience;
}

inline std::chrono::steady_clock::time_point In(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// Fails the test if the condition does not become true. Called on the test's own thread.
template <typename Condition>
void Await(Condition condition) {
  const auto end = Patience();
  while (!condition() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(condition());
}

}  // namespace holdfast::test
