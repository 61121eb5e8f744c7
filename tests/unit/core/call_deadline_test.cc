// SPDX-License-Identifier: Apache-2.0
#include "core/call_deadline.h"

#include <catch2/catch.hpp>
#include <thread>

namespace holdfast {
namespace call_deadline_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::system_clock;

TEST_CASE("without a deadline everything may be waited for") {
  CHECK_FALSE(IsPastCallDeadline());
  CHECK(WithinCallDeadline(hours(1)) == hours(1));
  const CallDeadline none(system_clock::time_point::max());  // gRPC's word for none
  CHECK_FALSE(IsPastCallDeadline());
  CHECK(WithinCallDeadline(hours(1)) == hours(1));
}

TEST_CASE("waiting ends before the deadline, so that the caller can be told why") {
  const CallDeadline deadline(system_clock::now() + minutes(10));
  CHECK_FALSE(IsPastCallDeadline());
  CHECK(WithinCallDeadline(seconds(1)) == seconds(1));
  CHECK(WithinCallDeadline(hours(1)) < minutes(10));
  CHECK(WithinCallDeadline(hours(1)) > milliseconds(0));
}

TEST_CASE("after the deadline nothing is waited for") {
  const CallDeadline deadline(system_clock::now() - minutes(1));
  CHECK(IsPastCallDeadline());
  CHECK(WithinCallDeadline(hours(1)) == milliseconds(0));
}

TEST_CASE("a deadline is that of its thread and ends with its call") {
  {
    const CallDeadline outer(system_clock::now() + hours(1));
    {
      const CallDeadline inner(system_clock::now() - hours(1));
      CHECK(IsPastCallDeadline());
      bool past_elsewhere = true;
      std::thread([&] { past_elsewhere = IsPastCallDeadline(); }).join();
      CHECK_FALSE(past_elsewhere);
    }
    CHECK_FALSE(IsPastCallDeadline());
    CHECK(WithinCallDeadline(hours(2)) < hours(2));
  }
  CHECK(WithinCallDeadline(hours(2)) == hours(2));
}

}  // namespace call_deadline_test
}  // namespace holdfast
