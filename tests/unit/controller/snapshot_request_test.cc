// SPDX-License-Identifier: Apache-2.0
#include "controller/snapshot_request.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "support/outcome.h"

namespace holdfast::controller {
namespace snapshot_request_test {

using std::chrono::milliseconds;

absl::StatusOr<VolumeSpec> With(const std::string& key, const std::string& value) {
  csi::v1::CreateSnapshotRequest request;
  request.set_name("snap");
  request.set_source_volume_id("default:n1:0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001");
  (*request.mutable_parameters())[key] = value;
  return ParseSnapshotRequest(request);
}

TEST_CASE("a snapshot is cut in a freeze of 2 s at most, unless its class says otherwise") {
  const CutOptions usual = test::Value(With("csi.storage.k8s.io/volumesnapshot/name", "x")).cut;
  CHECK(usual.freeze);
  CHECK(usual.longest_freeze == milliseconds(2000));
  CHECK(test::Value(With("consistency", "frozen")).cut.freeze);
  CHECK_FALSE(test::Value(With("consistency", "crash")).cut.freeze);
  CHECK(test::Value(With("maxFreeze", "500ms")).cut.longest_freeze == milliseconds(500));
  CHECK(test::Value(With("maxFreeze", "10s")).cut.longest_freeze == milliseconds(10000));
  CHECK(test::Value(With("maxFreeze", "0.1s")).cut.longest_freeze == milliseconds(100));
}

TEST_CASE("a parameter of a snapshot class that means nothing is refused by name") {
  CHECK_FAILS(With("consistency", "perfect"), kInvalidArgument, "'consistency': 'perfect'");
  for (const char* const value : {"", "2", "99ms", "10.1s", "-1s", "inf", "soon"}) {
    CAPTURE(value);
    CHECK_FAILS(With("maxFreeze", value), kInvalidArgument, "parameter 'maxFreeze'");
  }
  CHECK_FAILS(With("maxfreeze", "2s"), kInvalidArgument, "unknown parameter 'maxfreeze'");
}

}  // namespace snapshot_request_test
}  // namespace holdfast::controller
