// SPDX-License-Identifier: Apache-2.0
#include "pool/space_policy.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::pool {
namespace space_policy_test {

TEST_CASE("a pool without keys has the documented space policy") {
  const SpacePolicy space = test::Value(ParseSpacePolicy({}));
  CHECK(space.reserve_bytes == 0);
  CHECK(space.reserve_fraction == 0.05);
  CHECK(space.overcommit == 1.0);
  CHECK(space.watermark == 0.9);
}

TEST_CASE("every key of a space policy") {
  const SpacePolicy space = test::Value(
      ParseSpacePolicy({{"reserve", "1.5Gi"}, {"overcommit", "1.5"}, {"watermark", "75%"}}));
  CHECK(space.reserve_bytes == 3 * kGiB / 2);
  CHECK(space.reserve_fraction == 0);
  CHECK(space.overcommit == 1.5);
  CHECK(space.watermark == 0.75);
}

TEST_CASE("a reserve is bytes or a part, not both") {
  const SpacePolicy part = test::Value(ParseSpacePolicy({{"reserve", "12.5%"}}));
  CHECK(part.reserve_bytes == 0);
  CHECK(part.reserve_fraction == 0.125);
  CHECK(test::Value(ParseSpacePolicy({{"reserve", "0"}})).reserve_fraction == 0);
}

TEST_CASE("a wrong space policy is refused, naming the key") {
  const struct {
    const char* key;
    const char* value;
    const char* named;
  } rows[] = {
      {"reserve", "", "''"},
      {"reserve", "-1Gi", "-1Gi"},
      {"reserve", "101%", "reserve"},
      {"reserve", "x%", "reserve"},
      {"overcommit", "0.5", "overcommit"},
      {"overcommit", "1001", "overcommit"},
      {"overcommit", "nan", "overcommit"},
      {"overcommit", "2x", "overcommit"},
      {"overcommit", "", "overcommit"},
      {"watermark", "0.9", "must be a percentage"},
      {"watermark", "-1%", "watermark"},
      {"watermark", "%", "watermark"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.key, row.value);
    CHECK_FAILS(ParseSpacePolicy({{row.key, row.value}}), kInvalidArgument, row.named);
  }
}

}  // namespace space_policy_test
}  // namespace holdfast::pool
