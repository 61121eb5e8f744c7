// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_access.h"

#include <catch2/catch.hpp>

#include "os/file.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::rbd {
namespace ceph_user_test {

constexpr char kKey[] = "AQAsomeKey+Text/0123456789ABCDEFGHIJKLMN==";
constexpr char kSecretKey[] = "AQBkZ1RnAAAAABAAc2VudGluZWwtb2YtYS1rZXk=";

TEST_CASE("the key of a user in a keyring") {
  const std::string keyring = fmt::format(
      "[client.admin]\n\tkey = AQAother==\n\n[client.holdfast]\n\tcaps mon = \"profile rbd\"\n"
      "\tkey = {}\n[client.holdfast2]\nkey=AQAthird==\n",
      kKey);
  CHECK(test::Value(FindCephKey(keyring, "holdfast")) == kKey);
  CHECK(test::Value(FindCephKey(keyring, "holdfast2")) == "AQAthird==");
  CHECK(test::Value(FindCephKey(keyring, "admin")) == "AQAother==");
}

TEST_CASE("a file with nothing but a key") {
  CHECK(test::Value(FindCephKey(kKey, "anybody")) == kKey);
  CHECK(test::Value(FindCephKey(fmt::format("  {}\n", kKey), "anybody")) == kKey);
}

TEST_CASE("what holds no key is refused, without a word of what it holds") {
  const std::string texts[] = {"",
                               "\n",
                               "[client.other]\nkey = AQAsecret==\n",
                               "[client.holdfast]\n",
                               "[client.holdfast]\nkey = AQA secret\n",
                               "key = AQAsecret==\n"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    const auto found = FindCephKey(text, "holdfast");
    CHECK_FAILS(found, kFailedPrecondition, "client.holdfast");
    CHECK_THAT(MessageOf(found.status()), !Catch::Contains("secret"));
  }
}

TEST_CASE("a keyring that cannot be read is named") {
  const test::TempDirectory directory;
  CHECK_FAILS(ReadCephKey(directory.path("gone"), "u"), kFailedPrecondition,
              directory.path("gone"));
  REQUIRE_OK(os::WriteFileDurably(directory.fd(), "empty", ""));
  CHECK_FAILS(ReadCephKey(directory.path("empty"), "u"), kFailedPrecondition,
              directory.path("empty"));
}

TEST_CASE("a call's secrets name a Ceph user and its key") {
  const CephUser user =
      test::Value(UserIn(Secrets({{"userID", "team-a"}, {"userKey", kSecretKey}})));
  CHECK(user.name == "team-a");
  CHECK(user.key == kSecretKey);
  // As files have it: a line's end belongs to no key.
  CHECK(test::Value(UserIn(Secrets({{"userID", "a"}, {"userKey", std::string(kSecretKey) + "\n"}})))
            .key == kSecretKey);
}

TEST_CASE("secrets that are missing, half or malformed are named, and not shown") {
  const std::pair<std::map<std::string, std::string>, const char*> refused[] = {
      {{}, "userID is missing"},
      {{{"userKey", kSecretKey}}, "userID is missing"},
      {{{"userID", "team-a"}}, "userKey is missing"},
      {{{"userID", "team-a"}, {"userKey", ""}}, "userKey is missing"},
      {{{"userID", "team-a,name=admin"}, {"userKey", kSecretKey}}, "userID must be"},
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

}  // namespace ceph_user_test
}  // namespace holdfast::rbd
