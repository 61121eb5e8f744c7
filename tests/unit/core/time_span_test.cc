// SPDX-License-Identifier: Apache-2.0
#include "core/time_span.h"

#include <catch2/catch.hpp>
#include <string>

#include "support/outcome.h"

namespace holdfast {
namespace time_span_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("a time is read as people write it") {
  CHECK(test::Value(ParseTimeSpan("0")) == seconds(0));
  CHECK(test::Value(ParseTimeSpan("45s")) == seconds(45));
  CHECK(test::Value(ParseTimeSpan("90m")) == minutes(90));
  CHECK(test::Value(ParseTimeSpan("1h30m")) == minutes(90));
  CHECK(test::Value(ParseTimeSpan("24h")) == hours(24));
  CHECK(test::Value(ParseTimeSpan("7d")) == hours(24 * 7));
  CHECK(test::Value(ParseTimeSpan("3650d")) == hours(24 * 3650));
}

TEST_CASE("what is no such time is named") {
  for (const std::string text : {"", "7", "d", "-1h", "-1d", "1w", "1.5s", "10ms", "3651d", "inf",
                                 "99999999999999999999d", "1 d", "9223372036854775807d", "1dh"}) {
    CHECK_FAILS(ParseTimeSpan(text), kInvalidArgument, "'" + text + "' is not 0 or a time");
  }
}

TEST_CASE("a time is written in the largest unit that fits") {
  for (const char* const text : {"0", "45s", "90m", "25h", "7d"}) {
    CHECK(FormatTimeSpan(test::Value(ParseTimeSpan(text))) == text);
  }
  CHECK(FormatTimeSpan(hours(48)) == "2d");
}

}  // namespace time_span_test
}  // namespace holdfast
