// SPDX-License-Identifier: Apache-2.0
#include "core/unknown_name.h"

#include <catch2/catch.hpp>
#include <string>

#include "support/outcome.h"

namespace holdfast {
namespace unknown_name_test {

constexpr std::string_view kKnown[] = {"stateDir", "linkToken", "linkTokenKeys", "pools", "fs"};

TEST_CASE("the closest name is found in spite of a slip") {
  const struct {
    const char* name;
    std::optional<std::string_view> closest;
  } rows[] = {
      {"statedir", "stateDir"},   // case
      {"state-dir", "stateDir"},  // as the flag
      {"state_dir", "stateDir"},  //
      {"sateDir", "stateDir"},    // a letter is missing,
      {"stateDirr", "stateDir"},  // is too many,
      {"stataDir", "stateDir"},   // is wrong,
      {"satteDir", "stateDir"},   // or two have changed places
      {"linkTokn", "linkToken"},  // the closer one of two
      {"linkTokenKey", "linkTokenKeys"},
      {"pool", "pools"},
      {"poosl", "pools"},
      {"sf", std::nullopt},  // half of it
      {"colour", std::nullopt},
      {"fsx", "fs"},
      {"ab", std::nullopt},
      {"", std::nullopt},
      {"-", std::nullopt},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CHECK(ClosestName(row.name, kKnown) == row.closest);
  }
  CHECK(ClosestName(std::string(100'000, 'a'), kKnown) == std::nullopt);
  CHECK(ClosestName("a", {}) == std::nullopt);
}

TEST_CASE("an unknown name is answered with a question or a list") {
  CHECK_FAILS(UnknownName("key", "pool", kKnown), kInvalidArgument,
              "unknown key 'pool'; did you mean 'pools'?");
  CHECK_FAILS(UnknownName("key", "colour", kKnown), kInvalidArgument,
              "unknown key 'colour'; known: stateDir, linkToken, linkTokenKeys, pools, fs");
}

}  // namespace unknown_name_test
}  // namespace holdfast
