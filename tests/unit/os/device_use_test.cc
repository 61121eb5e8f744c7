// SPDX-License-Identifier: Apache-2.0
#include "os/device_use.h"

#include <catch2/catch.hpp>

namespace holdfast::os {
namespace device_use_test {

TEST_CASE("a mounted node is known by its name alone") {
  const BoundNodes nodes(
      "30 1 0:6 / /dev rw - devtmpfs udev rw\n"
      "31 1 0:6 /loop12 /target rw - devtmpfs udev rw\n"
      "32 1 0:6 /loop7//deleted /other rw - devtmpfs udev rw\n"
      "33 1 0:44 /dev/loop9 /third rw - tmpfs none rw\n");
  for (const char* name : {"loop12", "loop7", "loop9"}) CHECK(nodes.Has(name));
  for (const char* name : {"loop1", "loop2", "loop120", "loop70", "oop12", "loop"}) {
    CHECK_FALSE(nodes.Has(name));
  }
}

}  // namespace device_use_test
}  // namespace holdfast::os
