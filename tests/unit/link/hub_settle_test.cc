// SPDX-License-Identifier: Apache-2.0
// The time after a controller's start in which nodes return.
#include <catch2/catch.hpp>
#include <future>

#include "link/hub.h"
#include "support/await.h"
#include "support/link_peer.h"
#include "support/served_hub.h"

namespace holdfast::link {
namespace hub_settle_test {

using std::chrono::milliseconds;
using Controller = test::ServedHub;
using test::In;
using test::Patience;
using test::RegisterOf;

constexpr milliseconds kSoon{20};
constexpr std::chrono::hours kNever{1};

TEST_CASE("the time after a start ends by itself") {
  Controller controller({.settle = kSoon});
  CHECK(controller.hub.WaitUntilSettled(Patience()));
  CHECK(controller.hub.IsSettled());
  Controller waiting({.settle = kNever, .longest_settle = kNever});
  CHECK_FALSE(waiting.hub.WaitUntilSettled(In(kSoon)));
  CHECK_FALSE(waiting.hub.IsSettled());
}

// The node connects within milliseconds.
constexpr milliseconds kSettle{300};

TEST_CASE("nodes that come postpone the end of that time, up to a limit") {
  Controller controller(
      {.settle = kSettle, .settle_quiet_period = kNever, .longest_settle = kNever});
  const auto peer = controller.Connect("n1");
  CHECK_FALSE(controller.hub.WaitUntilSettled(In(kSettle + kSoon)));
  Controller limited(
      {.settle = kSettle, .settle_quiet_period = kNever, .longest_settle = kSettle + kSoon});
  const auto other = limited.Connect("n1");
  CHECK(limited.hub.WaitUntilSettled(Patience()));
}

TEST_CASE("a peer that has proved nothing does not postpone it") {
  Controller controller(
      {.settle = kSettle, .settle_quiet_period = kNever, .longest_settle = kNever});
  auto peer = controller.Dial();
  REQUIRE(peer->Register(RegisterOf("n1")));
  REQUIRE_FALSE(peer->TakeChallenge().empty());
  CHECK(controller.hub.WaitUntilSettled(Patience()));
}

TEST_CASE("waiting for more nodes") {
  Controller controller({.reconnect_grace = kNever, .settle = kNever, .longest_settle = kNever});
  auto more =
      std::async(std::launch::async, [&] { return controller.hub.WaitForMoreThan(1, Patience()); });
  const auto n1 = controller.Connect("n1");
  CHECK(more.wait_for(kSoon) == std::future_status::timeout);
  const auto n2 = controller.Connect("n2");
  CHECK(more.get());
  CHECK_FALSE(controller.hub.WaitForMoreThan(2, In(kSoon)));
  Controller settled;
  CHECK_FALSE(settled.hub.WaitForMoreThan(0, Patience()));
}

}  // namespace hub_settle_test
}  // namespace holdfast::link
