// SPDX-License-Identifier: Apache-2.0
#include "server/trim_pace.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace holdfast::server {
namespace trim_pace_test {

using namespace std::chrono_literals;

// As much storage as takes `per_gib` to trim a GiB, for `steps` steps; the largest of the last
// ones.
TrimPace::Duration LongestStepOf(TrimPace::Duration per_gib, int steps) {
  TrimPace pace;
  TrimPace::Duration longest{};
  for (int step = 0; step < steps; ++step) {
    const TrimPace::Duration took = per_gib * pace.step() / kGiB;
    if (step > 10) longest = std::max(longest, took);
    (void)pace.RestAfter(took);
  }
  return longest;
}

TEST_CASE("a trim works in a tenth of the time at most") {
  for (const auto took :
       {TrimPace::Duration(1us), TrimPace::Duration(1ms), TrimPace::Duration(60ms),
        TrimPace::Duration(100ms), TrimPace::Duration(3s)}) {
    TrimPace pace;
    for (int step = 0; step < 20; ++step) {
      const auto rest = pace.RestAfter(took);
      CHECK(took * TrimPace::kShare <= took + rest);
      CHECK(rest >= TrimPace::kShortestRest);
    }
  }
}

TEST_CASE("steps become as large as the storage is fast, and no larger") {
  TrimPace fast;
  for (int step = 0; step < 20; ++step) (void)fast.RestAfter(1ms);
  CHECK(fast.step() == TrimPace::kLargest);
  for (const auto per_gib : {TrimPace::Duration(200ms), TrimPace::Duration(1s),
                             TrimPace::Duration(5s), TrimPace::Duration(20s)}) {
    CHECK(LongestStepOf(per_gib, 100) <= TrimPace::kLongestStep);
    CHECK(LongestStepOf(per_gib, 100) >= TrimPace::kLongestStep / 8);
  }
}

TEST_CASE("one step that took very long makes the next one much smaller") {
  TrimPace pace;
  while (pace.step() < TrimPace::kLargest) (void)pace.RestAfter(1ms);
  (void)pace.RestAfter(6s);  // 64 times too long
  CHECK(pace.step() == TrimPace::kLargest / 64);
  (void)pace.RestAfter(1h);
  CHECK(pace.step() == TrimPace::kSmallest);
}

TEST_CASE("steps stay powers of two, so that they end where block groups do") {
  TrimPace pace;
  for (const auto took :
       {TrimPace::Duration(1ms), TrimPace::Duration(150ms), TrimPace::Duration(50ms),
        TrimPace::Duration(7s), TrimPace::Duration(1ms), TrimPace::Duration(333ms)}) {
    (void)pace.RestAfter(took);
    CHECK((pace.step() & (pace.step() - 1)) == 0);
  }
}

}  // namespace trim_pace_test
}  // namespace holdfast::server
