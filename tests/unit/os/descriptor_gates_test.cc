// SPDX-License-Identifier: Apache-2.0
#include "os/descriptor_gates.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <future>

#include "os/process.h"
#include "support/outcome.h"

namespace holdfast::os {
namespace descriptor_gates_test {

TEST_CASE("a claim that hangs with its device keeps no child from starting") {
  std::promise<void> claimed;
  std::promise<void> done;
  auto claim = std::async(std::launch::async, [&] {
    const auto gate = HoldBackSpawns();
    claimed.set_value();
    done.get_future().wait();
  });
  claimed.get_future().wait();
  const auto result = RunCommand({"true"}, std::chrono::seconds(60));
  done.set_value();
  REQUIRE_OK(result.status());
  CHECK(result->exit_code == 0);
}

}  // namespace descriptor_gates_test
}  // namespace holdfast::os
