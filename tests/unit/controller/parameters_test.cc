// SPDX-License-Identifier: Apache-2.0
#include "controller/parameters.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "support/outcome.h"

namespace holdfast::controller {
namespace parameters_test {

absl::StatusOr<ClassParameters> Parse(const std::map<std::string, std::string>& given) {
  return ParseParameters({given.begin(), given.end()});
}

TEST_CASE("no parameters: any pool, thick") {
  const ClassParameters parameters = test::Value(Parse({}));
  CHECK(parameters.pools.empty());
  CHECK(parameters.provisioning == Provisioning::kThick);
  CHECK(parameters.mkfs_options.empty());
  CHECK(parameters.given.empty());
}

TEST_CASE("every parameter, and what is compared later") {
  const std::map<std::string, std::string> own = {
      {"pool", "fast"}, {"provisioning", "thin"}, {"mkfsOptions", "-m 0"}};
  std::map<std::string, std::string> given = own;
  given["csi.storage.k8s.io/fstype"] = "xfs";
  given["csi.storage.k8s.io/pvc/name"] = "data";
  const ClassParameters parameters = test::Value(Parse(given));
  CHECK(parameters.pools == std::vector<std::string>{"fast"});
  CHECK(parameters.provisioning == Provisioning::kThin);
  CHECK(parameters.mkfs_options == "-m 0");
  CHECK(parameters.filesystem == "xfs");
  CHECK(parameters.given == own);
}

TEST_CASE("a class may name several pools") {
  const ClassParameters parameters = test::Value(Parse({{"pool", "fast, slow"}}));
  CHECK(parameters.pools == std::vector<std::string>{"fast", "slow"});
  CHECK(parameters.given.at("pool") == "fast, slow");
}

TEST_CASE("a wrong parameter is refused by its name") {
  CHECK_FAILS(Parse({{"colour", "red"}}), kInvalidArgument, "unknown parameter 'colour'");
  CHECK_FAILS(Parse({{"Pool", "fast"}}), kInvalidArgument, "unknown parameter 'Pool'");
  CHECK_FAILS(Parse({{"pool", ""}}), kInvalidArgument, "parameter 'pool'");
  CHECK_FAILS(Parse({{"pool", "../x"}}), kInvalidArgument, "parameter 'pool'");
  CHECK_FAILS(Parse({{"pool", "fast,"}}), kInvalidArgument, "parameter 'pool'");
  CHECK_FAILS(Parse({{"pool", ", fast"}}), kInvalidArgument, "parameter 'pool'");
  CHECK_FAILS(Parse({{"pool", "fast,slow,fast"}}), kInvalidArgument, "names 'fast' twice");
  CHECK_FAILS(Parse({{"provisioning", ""}}), kInvalidArgument, "provisioning ''");
  CHECK_FAILS(Parse({{"provisioning", "fat"}}), kInvalidArgument, "provisioning 'fat'");
  CHECK_FAILS(Parse({{"csi.storage.k8s.io", "x"}}), kInvalidArgument, "unknown parameter");
}

}  // namespace parameters_test
}  // namespace holdfast::controller
