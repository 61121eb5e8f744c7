// SPDX-License-Identifier: Apache-2.0
// Pools that an operator has declared lost.
#include <catch2/catch.hpp>

#include "controller/router.h"
#include "support/csi_requests.h"
#include "support/memory_cluster.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace router_lost_test {

using test::CreateOf;
using test::MemoryNode;

constexpr char kOtherDisk[] = "99999999-2222-3333-4444-555555555555";
const std::string kVolume = "default:n1:6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001";

// The pool "default" of n1 had the id `lost`; the nodes of the test have kPoolUuid.
struct Cluster : test::MemoryCluster {
  explicit Cluster(const std::string& lost)
      : MemoryCluster({.reconnect_grace = milliseconds(20), .settle = milliseconds(0)},
                      {LostPool{"n1", "default", lost}}) {}
};

TEST_CASE("what is on a lost node is deleted, and nothing else can be done with it") {
  Cluster cluster(kOtherDisk);
  cluster.Add("n2");
  const std::string snapshot = "s:" + kVolume;
  const auto described = test::Value(cluster.Get(kVolume));
  CHECK(described.volume().volume_id() == kVolume);
  CHECK(described.status().volume_condition().abnormal());
  CHECK_THAT(described.status().volume_condition().message(), Catch::Contains("declared lost"));
  CHECK_FAILS(cluster.Expand(kVolume, kGiB), kFailedPrecondition, "declared lost");
  CHECK_FAILS(cluster.Snap(kVolume, "snap"), kFailedPrecondition, "declared lost");
  CHECK_FAILS(cluster.GetSnapshot(snapshot), kFailedPrecondition, "declared lost");
  CHECK(test::Value(cluster.Capacity("n1")) == 0);
  REQUIRE_OK(cluster.DeleteSnapshot(snapshot));
  REQUIRE_OK(cluster.Delete(kVolume));
  REQUIRE_OK(cluster.Delete(kVolume));
  CHECK(cluster.TakeMethods().empty());
}

TEST_CASE("other pools of the node are not lost") {
  Cluster cluster(kOtherDisk);
  const std::string other = "fast" + kVolume.substr(kVolume.find(':'));
  CHECK_FAILS(cluster.Delete(other), kUnavailable, "n1");
}

TEST_CASE("a new disk under the lost one's name is served, and has none of its volumes") {
  Cluster cluster(kOtherDisk);
  MemoryNode& node = cluster.Add("n1");
  REQUIRE_OK(cluster.Delete(kVolume));
  CHECK(cluster.TakeMethods() ==
        std::map<std::string, std::vector<std::string>>{{"n1", {"DeleteVolume"}}});
  CHECK_FAILS(cluster.Get(kVolume), kNotFound, "node 'n1'");
  REQUIRE_OK(cluster.Create(CreateOf("pv")));
  CHECK(node.Has("pv"));
  CHECK(test::Value(cluster.Capacity("n1")) > 0);
}

TEST_CASE("a volume that was begun on a lost node is made elsewhere") {
  Cluster cluster(kOtherDisk);
  cluster.Add("n1").Make("pv");
  cluster.nodes.back().Connect();
  cluster.nodes.back().Leave();
  MemoryNode& other = cluster.Add("n2");
  REQUIRE_OK(cluster.Create(CreateOf("pv")));
  CHECK(other.Has("pv"));
}

}  // namespace router_lost_test
}  // namespace holdfast::controller
