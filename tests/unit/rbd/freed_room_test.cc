// SPDX-License-Identifier: Apache-2.0
// Room that the trash has given back counts until the cluster counts it.
#include "rbd/freed_room.h"

#include <catch2/catch.hpp>

namespace holdfast::rbd {
namespace freed_room_test {

using std::chrono::seconds;

FreedRoom::Clock::time_point now;

TEST_CASE("freed room counts for a while") {
  FreedRoom freed([] { return now; });
  CHECK(freed.Recent() == 0);
  freed.Add(kMiB);
  now += seconds(15);
  freed.Add(2 * kMiB);
  CHECK(freed.Recent() == 3 * kMiB);
  now += seconds(10);
  CHECK(freed.Recent() == 2 * kMiB);
  now += seconds(60);
  CHECK(freed.Recent() == 0);
}

}  // namespace freed_room_test
}  // namespace holdfast::rbd
