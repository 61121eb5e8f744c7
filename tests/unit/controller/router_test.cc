// SPDX-License-Identifier: Apache-2.0
// The controller over nodes in memory: which node is asked, and which parts of an answer are
// believed.
#include "controller/router.h"

#include <catch2/catch.hpp>

#include "rpc/topology.h"
#include "support/memory_node.h"

namespace holdfast::controller {
namespace {

using std::chrono::milliseconds;
using test::MemoryNode;

constexpr char kPoolA[] = "aaaaaaaa-0000-4000-8000-000000000001";
constexpr char kPoolB[] = "bbbbbbbb-0000-4000-8000-000000000002";

absl::Status Outcome(const grpc::Status& status) {
  return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// A controller without pools, and two nodes that are connected.
struct Cluster {
  Cluster() {
    calls.SetReady();
    REQUIRE_OK(one.Connect());
    REQUIRE_OK(two.Connect());
  }

  absl::StatusOr<csi::v1::Volume> Create(csi::v1::CreateVolumeRequest request) {
    csi::v1::CreateVolumeResponse response;
    RETURN_IF_ERROR(Outcome(router.CreateVolume(nullptr, &request, &response)));
    return response.volume();
  }
  absl::Status Delete(const std::string& id) {
    csi::v1::DeleteVolumeRequest request;
    request.set_volume_id(id);
    csi::v1::DeleteVolumeResponse response;
    return Outcome(router.DeleteVolume(nullptr, &request, &response));
  }
  absl::StatusOr<csi::v1::ControllerGetVolumeResponse> Get(const std::string& id) {
    csi::v1::ControllerGetVolumeRequest request;
    request.set_volume_id(id);
    csi::v1::ControllerGetVolumeResponse response;
    RETURN_IF_ERROR(Outcome(router.ControllerGetVolume(nullptr, &request, &response)));
    return response;
  }
  absl::StatusOr<csi::v1::ListVolumesResponse> List(int most, const std::string& token) {
    csi::v1::ListVolumesRequest request;
    request.set_max_entries(most);
    request.set_starting_token(token);
    csi::v1::ListVolumesResponse response;
    RETURN_IF_ERROR(Outcome(router.ListVolumes(nullptr, &request, &response)));
    return response;
  }
  absl::StatusOr<csi::v1::GetCapacityResponse> GetCapacity(const std::string& node) {
    csi::v1::GetCapacityRequest request;
    if (!node.empty()) {
      *request.mutable_accessible_topology() = rpc::NodeTopology(test::kDriver, node);
    }
    csi::v1::GetCapacityResponse response;
    RETURN_IF_ERROR(Outcome(router.GetCapacity(nullptr, &request, &response)));
    return response;
  }

  test::MemoryHub memory{{.settle = milliseconds(0), .reconnect_grace = milliseconds(0)}};
  MemoryNode one{memory, "n1", kPoolA};
  MemoryNode two{memory, "n2", kPoolB};
  test::TempDirectory directory;
  const state::NodeState state =
      test::Value(state::NodeState::Open(test::Value(os::OpenDirectory(directory.path())).get()));
  pool::Pools own_pools;
  KeyLock locks;
  rpc::CallRunner calls;
  Service own{{test::kDriver, "", false, own_pools, state, locks, calls}};
  Router router{{test::kDriver, false, memory.hub(), own_pools, own, locks, calls}};
};

csi::v1::CreateVolumeRequest RequestFor(const std::string& name,
                                        const std::vector<std::string>& nodes = {}) {
  csi::v1::CreateVolumeRequest request;
  request.set_name(name);
  request.mutable_capacity_range()->set_required_bytes(kGiB);
  auto& capability = *request.add_volume_capabilities();
  capability.mutable_mount();
  capability.mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  for (const std::string& node : nodes) {
    *request.mutable_accessibility_requirements()->add_requisite() =
        rpc::NodeTopology(test::kDriver, node);
  }
  return request;
}

std::string NodeOfId(const std::string& id) { return VolumeId::Parse(id)->node; }

TEST_CASE("a volume is made on a node that the request allows, and is reached from there") {
  Cluster cluster;
  for (const char* node : {"n1", "n2"}) {
    const auto volume = test::Value(cluster.Create(RequestFor(node, {node})));
    CHECK(NodeOfId(volume.volume_id()) == node);
    CHECK(volume.capacity_bytes() == kGiB);
    REQUIRE(volume.accessible_topology_size() == 1);
    CHECK(volume.accessible_topology(0).SerializeAsString() ==
          rpc::NodeTopology(test::kDriver, node).SerializeAsString());
  }
  CHECK(cluster.one.commands().size() == 1);
  CHECK(cluster.two.commands().size() == 1);
}

TEST_CASE("a repeated creation finds its volume, also after the controller has forgotten it") {
  Cluster cluster;
  const auto made = test::Value(cluster.Create(RequestFor("pv", {"n2"})));
  CHECK(test::Value(cluster.Create(RequestFor("pv", {"n1", "n2"}))).volume_id() ==
        made.volume_id());
  CHECK_FAILS(cluster.Create(RequestFor("pv", {"n1"})), kAlreadyExists,
              "node 'n2' has a volume named 'pv'");
  Router successor({test::kDriver, false, cluster.memory.hub(), cluster.own_pools, cluster.own,
                    cluster.locks, cluster.calls});
  const csi::v1::CreateVolumeRequest request = RequestFor("pv", {"n1", "n2"});
  csi::v1::CreateVolumeResponse response;
  REQUIRE(successor.CreateVolume(nullptr, &request, &response).ok());
  CHECK(response.volume().volume_id() == made.volume_id());
}

TEST_CASE("a node without room is passed over; without any room the CO hears of it") {
  Cluster cluster;
  const auto full = [](const link::v1::Command&) {
    return test::RefusedWith(absl::StatusCode::kResourceExhausted, "the pool is full");
  };
  cluster.one.SetAnswer(full);
  CHECK(NodeOfId(test::Value(cluster.Create(RequestFor("a", {"n1", "n2"}))).volume_id()) == "n2");
  cluster.two.SetAnswer(full);
  CHECK_FAILS(cluster.Create(RequestFor("b", {"n1", "n2"})), kResourceExhausted, "full");
}

TEST_CASE("a creation that may be under way on a node is not begun on another") {
  Cluster cluster;
  cluster.one.SetAnswer([](const link::v1::Command&) {
    return test::RefusedWith(absl::StatusCode::kAborted, "it is being made");
  });
  cluster.two.SetAnswer([](const link::v1::Command&) {
    return test::RefusedWith(absl::StatusCode::kAborted, "it is being made");
  });
  CHECK(test::CodeOf(cluster.Create(RequestFor("pv", {"n1", "n2"}))) == absl::StatusCode::kAborted);
  CHECK(cluster.one.commands().size() + cluster.two.commands().size() == 1);
}

TEST_CASE("a node that is away never makes a volume look deleted") {
  Cluster cluster;
  const auto volume = test::Value(cluster.Create(RequestFor("pv", {"n2"})));
  cluster.two.HangUp();
  CHECK_FAILS(cluster.Delete(volume.volume_id()), kUnavailable, "node 'n2'");
  CHECK_FAILS(cluster.Get(volume.volume_id()), kUnavailable, "node 'n2'");
  const auto listed = test::Value(cluster.List(0, ""));
  REQUIRE(listed.entries_size() == 1);
  CHECK(listed.entries(0).volume().volume_id() == volume.volume_id());
  CHECK_THAT(listed.entries(0).status().volume_condition().message(),
             Catch::Contains("its condition is not known"));
  CHECK_FAILS(cluster.Create(RequestFor("pv", {"n1"})), kUnavailable,
              "node 'n2', which has a volume named 'pv'");
  REQUIRE_OK(cluster.two.Connect());
  REQUIRE_OK(cluster.Delete(volume.volume_id()));
  REQUIRE_OK(cluster.Delete(volume.volume_id()));
  CHECK(test::CodeOf(cluster.Get(volume.volume_id())) == absl::StatusCode::kNotFound);
}

TEST_CASE("the list has the volumes of all nodes, page by page") {
  Cluster cluster;
  std::set<std::string> made;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    const std::string node = made.size() % 2 == 0 ? "n1" : "n2";
    made.insert(test::Value(cluster.Create(RequestFor(name, {node}))).volume_id());
  }
  std::set<std::string> listed;
  std::string token;
  int pages = 0;
  do {
    const auto page = test::Value(cluster.List(2, token));
    CHECK(page.entries_size() <= 2);
    for (const auto& entry : page.entries()) {
      CHECK(listed.insert(entry.volume().volume_id()).second);
    }
    token = page.next_token();
    ++pages;
  } while (!token.empty() && pages < 10);
  CHECK(listed == made);
}

TEST_CASE("capacity is the sum of the nodes, or one node's") {
  Cluster cluster;
  CHECK(test::Value(cluster.GetCapacity("n1")).available_capacity() == kTiB);
  CHECK(test::Value(cluster.GetCapacity("")).available_capacity() == 2 * kTiB);
  CHECK(test::Value(cluster.GetCapacity("")).maximum_volume_size().value() == kTiB);
  cluster.two.HangUp();
  CHECK_FAILS(cluster.GetCapacity("n2"), kUnavailable, "node 'n2' is not connected");
}

TEST_CASE("a node speaks only for its own volumes, in the codes of the call") {
  Cluster cluster;
  const auto volume = test::Value(cluster.Create(RequestFor("pv", {"n1"})));
  SECTION("another node's volume") {
    csi::v1::ControllerGetVolumeResponse answer;
    answer.mutable_volume()->set_volume_id(
        VolumeId{"default", "n2", VolumeId::Parse(volume.volume_id())->uuid}.ToString());
    answer.mutable_volume()->set_capacity_bytes(kGiB);
    cluster.one.SetAnswer([&](const link::v1::Command&) { return test::AnsweredWith(answer); });
    CHECK_FAILS(cluster.Get(volume.volume_id()), kUnavailable, "node 'n1'");
  }
  SECTION("a code that the call does not have") {
    cluster.one.SetAnswer([](const link::v1::Command&) {
      return test::RefusedWith(absl::StatusCode::kDataLoss, "all is lost");
    });
    CHECK_FAILS(cluster.Get(volume.volume_id()), kInternal, "node 'n1'");
  }
  SECTION("bytes that are not a message") {
    cluster.one.SetAnswer([](const link::v1::Command&) {
      link::v1::Result result;
      result.set_response("\xff\xff\xff");
      return result;
    });
    CHECK_FAILS(cluster.Get(volume.volume_id()), kUnavailable, "node 'n1'");
  }
  SECTION("a smaller volume than was asked for") {
    csi::v1::CreateVolumeResponse answer;
    answer.mutable_volume()->set_volume_id("default:n1:x");
    answer.mutable_volume()->set_capacity_bytes(kMiB);
    cluster.one.SetAnswer([&](const link::v1::Command&) { return test::AnsweredWith(answer); });
    CHECK_FALSE(cluster.Create(RequestFor("other", {"n1"})).ok());
  }
}

TEST_CASE("secrets do not leave the controller") {
  Cluster cluster;
  csi::v1::CreateVolumeRequest request = RequestFor("pv", {"n1"});
  (*request.mutable_secrets())["password"] = "sesame";
  REQUIRE_OK(cluster.Create(request));
  REQUIRE(cluster.one.commands().size() == 1);
  CHECK(cluster.one.commands()[0].request().find("sesame") == std::string::npos);
}

TEST_CASE("a volume of no node there ever was is deleted already; garbage is not found") {
  Cluster cluster;
  REQUIRE_OK(cluster.Delete("garbage"));
  CHECK(test::CodeOf(cluster.Get("garbage")) == absl::StatusCode::kNotFound);
  CHECK(cluster.one.commands().empty());
}

}  // namespace
}  // namespace holdfast::controller
