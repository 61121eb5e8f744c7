// SPDX-License-Identifier: Apache-2.0
#include "core/retention.h"

#include <catch2/catch.hpp>
#include <string>

#include "support/outcome.h"

namespace holdfast {
namespace retention_test {

TEST_CASE("how long deleted volumes are kept is a time, and a wrong one is refused by name") {
  CHECK(test::Value(ParseRetention("1h30m")) == std::chrono::minutes(90));
  CHECK(FormatRetention(std::chrono::hours(48)) == "2d");
  CHECK_FAILS(ParseRetention("1w"), kInvalidArgument,
              "keepDeleted='1w' is not 0 or a time of whole seconds, such as 24h or 7d");
}

}  // namespace retention_test
}  // namespace holdfast
