// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_secrets.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::rbd {
namespace {

constexpr char kKey[] = "AQBkZ1RnAAAAABAAc2VudGluZWwtb2YtYS1rZXk=";

TEST_CASE("a call's secrets name a Ceph user and its key") {
  const CephUser user = test::Value(UserIn(Secrets({{"userID", "team-a"}, {"userKey", kKey}})));
  CHECK(user.name == "team-a");
  CHECK(user.key == kKey);
  // As files have it: a line's end belongs to no key.
  CHECK(
      test::Value(UserIn(Secrets({{"userID", "a"}, {"userKey", std::string(kKey) + "\n"}}))).key ==
      kKey);
}

TEST_CASE("secrets that are missing, half or malformed are named, and not shown") {
  const std::pair<std::map<std::string, std::string>, const char*> refused[] = {
      {{}, "userID is missing"},
      {{{"userKey", kKey}}, "userID is missing"},
      {{{"userID", "team-a"}}, "userKey is missing"},
      {{{"userID", "team-a"}, {"userKey", ""}}, "userKey is missing"},
      {{{"userID", "team-a,name=admin"}, {"userKey", kKey}}, "userID must be"},
      {{{"userID", "team-a"}, {"userKey", "sentinel key"}}, "userKey is not a Ceph key"},
  };
  for (const auto& [values, why] : refused) {
    const auto user = UserIn(Secrets(values));
    CHECK_FAILS(user, kInvalidArgument, "secrets: ");
    CHECK_FAILS(user, kInvalidArgument, why);
    for (const auto& [key, value] : values) {
      if (!value.empty()) CHECK(MessageOf(user.status()).find(value) == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace holdfast::rbd
