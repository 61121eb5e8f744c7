// SPDX-License-Identifier: Apache-2.0
#include "rbd/monitor_answers.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::rbd {
namespace {

TEST_CASE("what could still be stored in a pool") {
  const char answer[] =
      R"({"stats": {"total_bytes": 100, "total_avail_bytes": 90},
          "pools": [{"name": "a", "id": 1, "stats": {"stored": 1, "max_avail": 7, "quota_bytes": 0}},
                    {"name": "b", "id": 2, "stats": {"stored": 2, "max_avail": 8, "quota_bytes": 0}}]})";
  const auto statistics = test::Value(ParseStatistics(answer, "b"));
  REQUIRE(statistics.has_value());
  CHECK(statistics->stored == 2);
  CHECK(statistics->available == 8);
  CHECK_FALSE(test::Value(ParseStatistics(answer, "c")).has_value());
}

TEST_CASE("a quota leaves less") {
  const auto available = [](int quota) {
    const auto answer = fmt::format(
        R"({{"stats": {{"total_bytes": 100}},
             "pools": [{{"name": "a", "stats": {{"stored": 20, "max_avail": 70, "quota_bytes": {}}}}}]}})",
        quota);
    return test::Value(ParseStatistics(answer, "a"))->available;
  };
  CHECK(available(0) == 70);
  CHECK(available(1000) == 70);
  CHECK(available(50) == 30);
  CHECK(available(10) == 0);
}

TEST_CASE("a cluster without statistics is not a full one") {
  const char answer[] =
      R"({"stats": {"total_bytes": 0}, "pools": [{"name": "a", "stats": {"stored": 0, "max_avail": 0}}]})";
  CHECK_FALSE(test::Value(ParseStatistics(answer, "a")).has_value());
}

TEST_CASE("addresses for the kernel") {
  const char both[] =
      R"({"mons": [{"public_addrs": {"addrvec": [{"type": "v2", "addr": "10.0.0.1:3300"},
                                                 {"type": "v1", "addr": "10.0.0.1:6789"}]}},
                   {"public_addrs": {"addrvec": [{"type": "v1", "addr": "10.0.0.2:6789"}]}}]})";
  const auto first = test::Value(ParseMonitorAddresses(both));
  CHECK(first.addresses == std::vector<std::string>{"10.0.0.1:6789", "10.0.0.2:6789"});
  CHECK_FALSE(first.messenger_v2);
  const char second_only[] =
      R"({"mons": [{"public_addrs": {"addrvec": [{"type": "v2", "addr": "10.0.0.1:3300"}]}}]})";
  const auto second = test::Value(ParseMonitorAddresses(second_only));
  CHECK(second.addresses == std::vector<std::string>{"10.0.0.1:3300"});
  CHECK(second.messenger_v2);
}

TEST_CASE("an answer that is none is an error") {
  for (const char* answer : {"", "{}", "[]", "{\"stats\": {\"total_bytes\": \"x\"}}"}) {
    CAPTURE(answer);
    CHECK_FAILS(ParseStatistics(answer, "a"), kInternal, "monitors' answer");
    CHECK_FAILS(ParseMonitorAddresses(answer), kInternal, "monitors' answer");
  }
}

TEST_CASE("whether a client is fenced") {
  const char answer[] = R"([{"addr": "10.0.0.1:0/12", "until": "2027-01-01T00:00:00"},
                            {"addr": "10.0.0.2:0/3", "until": "2027-01-01T00:00:00"}])";
  CHECK(test::Value(ParseFenced(answer, "10.0.0.1:0/12")));
  CHECK_FALSE(test::Value(ParseFenced(answer, "10.0.0.1:0/1")));
  CHECK_FALSE(test::Value(ParseFenced("[]", "10.0.0.1:0/12")));
  CHECK_FALSE(test::Value(ParseFenced("[][]\n", "10.0.0.1:0/12")));
  CHECK(test::Value(ParseFenced(std::string("[]") + answer, "10.0.0.2:0/3")));
  CHECK(test::Value(ParseFenced(std::string(answer) + "[]", "10.0.0.2:0/3")));
  CHECK_FAILS(ParseFenced("[]x", "10.0.0.1:0/12"), kInternal, "answer");
  CHECK_FAILS(ParseFenced("", "10.0.0.1:0/12"), kInternal, "answer");
  CHECK_FAILS(ParseFenced(R"([{"address": ""}])", "10.0.0.1:0/12"), kInternal, "answer");
}

}  // namespace
}  // namespace holdfast::rbd
