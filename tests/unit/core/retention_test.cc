// SPDX-License-Identifier: Apache-2.0
#include "core/retention.h"

#include <catch2/catch.hpp>
#include <string>

#include "support/outcome.h"

namespace holdfast {
namespace retention_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("how long deleted volumes are kept is read as people write it") {
  CHECK(test::Value(ParseRetention("0")) == seconds(0));
  CHECK(test::Value(ParseRetention("45s")) == seconds(45));
  CHECK(test::Value(ParseRetention("90m")) == minutes(90));
  CHECK(test::Value(ParseRetention("1h30m")) == minutes(90));
  CHECK(test::Value(ParseRetention("24h")) == hours(24));
  CHECK(test::Value(ParseRetention("7d")) == hours(24 * 7));
  CHECK(test::Value(ParseRetention("3650d")) == hours(24 * 3650));
}

TEST_CASE("what is not such a time is refused by name") {
  for (const char* const text : {"", "7", "d", "-1h", "-1d", "1w", "1.5s", "10ms", "3651d", "inf",
                                 "99999999999999999999d", "1 d", "9223372036854775807d", "1dh"}) {
    CAPTURE(text);
    CHECK_FAILS(ParseRetention(text), kInvalidArgument, "keepDeleted");
  }
}

TEST_CASE("it is written in the largest unit that fits") {
  for (const char* const text : {"0", "45s", "90m", "25h", "7d"}) {
    CHECK(FormatRetention(test::Value(ParseRetention(text))) == text);
  }
  CHECK(FormatRetention(hours(48)) == "2d");
}

}  // namespace retention_test
}  // namespace holdfast
