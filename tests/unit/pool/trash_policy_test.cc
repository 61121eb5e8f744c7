// SPDX-License-Identifier: Apache-2.0
#include "pool/trash_policy.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::pool {
namespace trash_policy_test {

TEST_CASE("a pool keeps nothing that is deleted unless it says so") {
  const TrashPolicy none = test::Value(ParseTrashPolicy({{"reserve", "5%"}}));
  CHECK(none.keep.count() == 0);
  CHECK_FALSE(none.reclaim);
  const TrashPolicy some =
      test::Value(ParseTrashPolicy({{"keepDeleted", "24h"}, {"trash", "reclaim"}}));
  CHECK(some.keep == std::chrono::hours(24));
  CHECK(some.reclaim);
  CHECK_FALSE(test::Value(ParseTrashPolicy({{"trash", "keep"}})).reclaim);
}

TEST_CASE("a bad policy is refused by name") {
  CHECK_FAILS(ParseTrashPolicy({{"keepDeleted", "soon"}}), kInvalidArgument, "keepDeleted='soon'");
  CHECK_FAILS(ParseTrashPolicy({{"trash", "empty"}}), kInvalidArgument, "trash='empty'");
}

}  // namespace trash_policy_test
}  // namespace holdfast::pool
