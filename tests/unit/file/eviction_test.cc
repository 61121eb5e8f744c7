// SPDX-License-Identifier: Apache-2.0
#include "file/eviction.h"

#include <catch2/catch.hpp>
#include <string>

#include "support/outcome.h"

namespace holdfast::file {
namespace eviction_test {

constexpr Bytes kDisk = 100 * kGiB;

double Threshold(const std::string& config) {
  const auto highest = HighestThreshold(config, kDisk);
  REQUIRE_OK(highest);
  return *highest;
}

TEST_CASE("the kubelet's defaults hold for what its configuration leaves out") {
  CHECK(Threshold("{}") == Approx(0.15));
  CHECK(Threshold("imageGCHighThresholdPercent: 70") == Approx(0.30));
  CHECK(Threshold("evictionSoft: {nodefs.available: '22%', memory.available: 1Gi}") ==
        Approx(0.22));
}

TEST_CASE("a configuration with hard thresholds has only those, unless it asks for the others") {
  CHECK(Threshold("{evictionHard: {nodefs.available: 5%}, imageGCHighThresholdPercent: 98}") ==
        Approx(0.05));
  CHECK(Threshold("{evictionHard: {nodefs.available: 5%}, imageGCHighThresholdPercent: 98, "
                  "mergeDefaultEvictionSettings: true}") == Approx(0.15));
  CHECK(Threshold("{evictionHard: {memory.available: 1Gi}, imageGCHighThresholdPercent: 100}") ==
        0);
}

TEST_CASE("a threshold is a part of the disk or a size") {
  CHECK(Threshold("evictionHard: {imagefs.available: 30Gi}") == Approx(0.30));
  CHECK(Threshold(R"({"evictionHard": {"nodefs.available": "40%"}})") == Approx(0.40));
}

TEST_CASE("what is no configuration of a kubelet is refused") {
  for (const char* const config :
       {"", "a text", "[]", "evictionHard: {nodefs.available: lots}",
        "evictionHard: {nodefs.available: 101%}", "evictionHard: {nodefs.available: [1]}",
        "imageGCHighThresholdPercent: many", "{", "evictionSoft: {imagefs.available: -1%}"}) {
    INFO(config);
    CHECK(absl::IsInvalidArgument(HighestThreshold(config, kDisk).status()));
  }
}

}  // namespace eviction_test
}  // namespace holdfast::file
