// SPDX-License-Identifier: Apache-2.0
#include "core/host_port.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast {
namespace host_port_test {

TEST_CASE("addresses as people write them") {
  const auto check = [](const char* text, const char* host, int port) {
    INFO(text);
    const auto parsed = ParseHostPort(text);
    REQUIRE_OK(parsed);
    CHECK(parsed->host == host);
    CHECK(parsed->port == port);
  };
  check("127.0.0.1:9808", "127.0.0.1", 9808);
  check("localhost:1", "localhost", 1);
  check("[::1]:65535", "::1", 65535);
  check(":9808", "", 9808);
}

TEST_CASE("an empty host is every address") {
  CHECK(ParseHostPort(":1")->ListenHosts() == std::vector<std::string>{"::", "0.0.0.0"});
  CHECK(ParseHostPort("h:1")->ListenHosts() == std::vector<std::string>{"h"});
}

TEST_CASE("what is no address is refused") {
  for (const char* text : {"", "localhost", "localhost:", ":0", ":65536", ":-1", ":9808x",
                           "::1:9808", "host:99999999999999999999", "a: 1"}) {
    INFO(text);
    CHECK_FAILS(ParseHostPort(text), kInvalidArgument, "must be HOST:PORT");
  }
}

}  // namespace host_port_test
}  // namespace holdfast
