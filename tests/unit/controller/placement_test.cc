// SPDX-License-Identifier: Apache-2.0
#include "controller/placement.h"

#include <catch2/catch.hpp>
#include <limits>
#include <map>

#include "controller/capacity.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace placement_test {

using Names = std::vector<std::string>;

constexpr char kDriver[] = "csi.holdfast.dev";

link::NodeView NodeWith(const std::string& name, Bytes thick, Bytes thin,
                        const std::string& pool = "default", const std::string& problem = "") {
  link::v1::Pools pools;
  link::v1::Pool& described = *pools.add_pools();
  described.set_name(pool);
  described.set_default_filesystem("xfs");
  described.set_problem(problem);
  described.mutable_thick()->set_available_capacity(thick);
  described.mutable_thick()->mutable_maximum_volume_size()->set_value(thick);
  described.mutable_thin()->set_available_capacity(thin);
  described.mutable_thin()->mutable_maximum_volume_size()->set_value(thin);
  return {.name = name,
          .pools = std::make_shared<const link::v1::Pools>(std::move(pools)),
          .version = ""};
}

csi::v1::Topology At(const std::string& node) {
  csi::v1::Topology topology;
  (*topology.mutable_segments())[std::string("topology.") + kDriver + "/node"] = node;
  return topology;
}

csi::v1::TopologyRequirement Requirement(const Names& requisite, const Names& preferred = {}) {
  csi::v1::TopologyRequirement requirement;
  for (const std::string& node : requisite) *requirement.add_requisite() = At(node);
  for (const std::string& node : preferred) *requirement.add_preferred() = At(node);
  return requirement;
}

const std::vector<link::NodeView> kNodes = {
    NodeWith("a", 10 * kMiB, 40 * kMiB), NodeWith("b", 30 * kMiB, 20 * kMiB),
    NodeWith("c", 20 * kMiB, 20 * kMiB), NodeWith("other", kGiB, kGiB, "fast"),
    NodeWith("sick", kGiB, kGiB, "default", "its disk is not mounted")};

PlacementRequest Thick(Bytes bytes, const std::string& pool = "default") {
  return {.name = "pvc",
          .pools = Names{pool},
          .provisioning = Provisioning::kThick,
          .bytes = bytes,
          .limit = 0};
}

TEST_CASE("without a requirement the node with most room comes first") {
  const Candidates thick = Place({}, kNodes, kDriver, Thick(15 * kMiB));
  CHECK(thick.fitting == Names{"b", "c"});
  CHECK(thick.absent.empty());
  CHECK(thick.unfitting.size() == 3);
  const PlacementRequest thin{.name = "pvc",
                              .pools = Names{"default"},
                              .provisioning = Provisioning::kThin,
                              .bytes = 15 * kMiB,
                              .limit = 0};
  CHECK(Place({}, kNodes, kDriver, thin).fitting == Names{"a", "b", "c"});
}

TEST_CASE("room beyond plenty draws no volume: their names spread them") {
  const std::vector<link::NodeView> nodes = {NodeWith("boasts", kTiB * 1024, kTiB),
                                             NodeWith("has", 100 * kGiB, kGiB),
                                             NodeWith("little", 2 * kGiB, kGiB)};
  std::map<std::string, int> first;
  for (int i = 0; i < 100; ++i) {
    PlacementRequest wanted = Thick(kGiB);
    wanted.name = "pvc-" + std::to_string(i);
    const Names order = Place({}, nodes, kDriver, wanted).fitting;
    REQUIRE(order.size() == 3);
    CHECK(order.back() == "little");
    ++first[order.front()];
  }
  CHECK(first["boasts"] > 20);
  CHECK(first["has"] > 20);
}

TEST_CASE("preferred nodes in their order, then requisite ones, each once") {
  const auto order = [](const Names& requisite, const Names& preferred) {
    return Place(Requirement(requisite, preferred), kNodes, kDriver, Thick(kMiB)).fitting;
  };
  CHECK(order({"a", "b", "c"}, {"c", "a"}) == Names{"c", "a", "b"});
  CHECK(order({"a", "b"}, {}) == Names{"a", "b"});
  CHECK(order({}, {"b"}) == Names{"b"});
  CHECK(order({"b", "b"}, {"b"}) == Names{"b"});
}

TEST_CASE("who is not connected, and who has no room or no such pool, is told apart") {
  const auto requirement = Requirement({"a", "gone", "c", "other", "sick"}, {"gone"});
  const Candidates candidates = Place(requirement, kNodes, kDriver, Thick(15 * kMiB));
  CHECK(candidates.fitting == Names{"c"});
  CHECK(candidates.absent == Names{"gone"});
  CHECK(candidates.unfitting == Names{"a", "other", "sick"});
  CHECK(Place(requirement, kNodes, kDriver, Thick(kMiB, "fast")).fitting == Names{"other"});
}

TEST_CASE("of several pools, and of all if none is named, the roomiest one counts") {
  PlacementRequest wanted = Thick(15 * kMiB);
  wanted.pools = {};
  CHECK(Place({}, kNodes, kDriver, wanted).fitting == Names{"other", "b", "c"});
  wanted.pools = {"default", "fast"};
  CHECK(Place({}, kNodes, kDriver, wanted).fitting == Names{"other", "b", "c"});
  wanted.pools = {"slow", "fast"};
  CHECK(Place({}, kNodes, kDriver, wanted).fitting == Names{"other"});
  CHECK(PoolsNamed(kNodes[0], {}) == PoolsNamed(kNodes[0], {"fast", "default"}));
  CHECK(PoolsNamed(kNodes[0], {"fast"}).empty());
}

TEST_CASE("a full node is not chosen for a volume of any size") {
  const std::vector<link::NodeView> full = {NodeWith("a", 0, 0)};
  CHECK(Place({}, full, kDriver, Thick(0)).unfitting == Names{"a"});
}

TEST_CASE("topologies of other drivers name no node") {
  csi::v1::TopologyRequirement requirement;
  (*requirement.add_requisite()->mutable_segments())["topology.other.example.com/node"] = "a";
  CHECK(Place(requirement, kNodes, kDriver, Thick(kMiB)).fitting.empty());
  CHECK(NodeOf(requirement.requisite(0), kDriver).empty());
}

TEST_CASE("capacity of all nodes: space adds up, one volume fits on one of them") {
  csi::v1::GetCapacityRequest request;
  (*request.mutable_parameters())["provisioning"] = "thin";
  const CapacityQuestion question = test::Value(ParseCapacityQuestion(request));
  csi::v1::GetCapacityResponse response;
  for (const link::NodeView& node : kNodes) AddCapacity(question, node, response);
  CHECK(response.available_capacity() == 80 * kMiB + kGiB);
  CHECK(response.maximum_volume_size().value() == kGiB);
  CHECK(response.minimum_volume_size().value() == 300 * kMiB);  // xfs, the pools' default
}

TEST_CASE("a node that says nonsense does not spoil what the others have") {
  constexpr Bytes kMost = std::numeric_limits<Bytes>::max();
  csi::v1::GetCapacityRequest request;
  const CapacityQuestion question = test::Value(ParseCapacityQuestion(request));
  csi::v1::GetCapacityResponse response;
  AddCapacity(question, NodeWith("negative", -kMost - 1, 0), response);
  CHECK(response.available_capacity() == 0);
  CHECK(response.maximum_volume_size().value() == 0);
  AddCapacity(question, NodeWith("honest", kGiB, 0), response);
  CHECK(response.available_capacity() == kGiB);
  AddCapacity(question, NodeWith("vast", kMost, 0), response);
  CHECK(response.available_capacity() == kMost);
}

TEST_CASE("a question about what no pool makes is answered with nothing") {
  csi::v1::GetCapacityRequest request;
  csi::v1::VolumeCapability& capability = *request.add_volume_capabilities();
  capability.mutable_mount()->set_fs_type("zfs");
  capability.mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  CHECK_FALSE(test::Value(ParseCapacityQuestion(request)).possible);
  capability.mutable_mount()->set_fs_type("ext4");
  capability.clear_access_mode();
  CHECK_FAILS(ParseCapacityQuestion(request), kInvalidArgument, "access_mode");
  (*request.mutable_parameters())["colour"] = "red";
  CHECK_FAILS(ParseCapacityQuestion(request), kInvalidArgument, "colour");
}

}  // namespace placement_test
}  // namespace holdfast::controller
