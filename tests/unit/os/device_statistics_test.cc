// SPDX-License-Identifier: Apache-2.0
#include "os/device_statistics.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::os {
namespace device_statistics_test {

TEST_CASE("the kernel's counters are in requests and in sectors of 512 bytes") {
  const DeviceStatistics counted = test::Value(
      ParseDeviceStatistics("      87        1     4736       12      391      388     9184 \n"));
  CHECK(counted.reads == 87);
  CHECK(counted.read_bytes == Bytes{4736} * 512);
  CHECK(counted.writes == 391);
  CHECK(counted.written_bytes == Bytes{9184} * 512);
}

TEST_CASE("other text is an error") {
  for (const char* const text :
       {"", "1 2 3", "a b c d e f g", "1 2 3 4 5 6 99999999999999999999"}) {
    CHECK(absl::IsInternal(ParseDeviceStatistics(text).status()));
  }
}

TEST_CASE("a device that is not there has none") {
  CHECK(absl::IsNotFound(ReadDeviceStatistics(0).status()));
}

}  // namespace device_statistics_test
}  // namespace holdfast::os
