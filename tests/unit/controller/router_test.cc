// SPDX-License-Identifier: Apache-2.0
#include "controller/router.h"

#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <map>

#include "controller/rpc_table.h"
#include "support/csi_requests.h"
#include "support/memory_cluster.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace router_test {

using Cluster = test::MemoryCluster;
using test::CreateOf;
using test::MemoryNode;
using test::OfVolume;
using Stub = csi::v1::Controller::Stub;
using Methods = std::vector<std::string>;

const Methods kNothing;

using Heard = std::map<std::string, Methods>;

// A valid call of each RPC, about that volume or snapshot if it is about one.
std::map<std::string, std::function<absl::Status()>> GoodCalls(Cluster& cluster,
                                                               const std::string& id,
                                                               const std::string& snapshot) {
  return {
      {"CreateVolume", [&] { return cluster.Create(CreateOf("new")).status(); }},
      {"DeleteVolume", [&, id] { return cluster.Delete(id).status(); }},
      {"ControllerExpandVolume", [&, id] { return cluster.Expand(id, kGiB).status(); }},
      {"ControllerGetVolume", [&, id] { return cluster.Get(id).status(); }},
      {"ValidateVolumeCapabilities", [&, id] { return cluster.Validate(id).status(); }},
      {"CreateSnapshot", [&, id] { return cluster.Snap(id, "new").status(); }},
      {"DeleteSnapshot", [&, snapshot] { return cluster.DeleteSnapshot(snapshot).status(); }},
      {"GetSnapshot", [&, snapshot] { return cluster.GetSnapshot(snapshot).status(); }},
      {"ListSnapshots", [&] { return cluster.ListSnapshots().status(); }},
      {"ListVolumes", [&] { return cluster.List().status(); }},
      {"GetCapacity", [&] { return cluster.Capacity().status(); }},
      {"ControllerGetCapabilities",
       [&] { return cluster.Call(&Stub::ControllerGetCapabilities, {}).status(); }},
      {"ControllerPublishVolume", [&, id] { return cluster.Publish(id, "n2").status(); }},
      {"ControllerUnpublishVolume", [&, id] { return cluster.Unpublish(id, "n2").status(); }},
  };
}

TEST_CASE("each RPC of the table is heard by the nodes that answer it, and by no others") {
  for (const Rpc& rpc : Rpcs()) {
    const std::string method(rpc.method);
    CAPTURE(method);
    Cluster cluster;
    cluster.Add("n1").Make("pv-1");
    cluster.Add("n2").Make("pv-2");
    MemoryNode& n2 = cluster.nodes.back();
    const std::string snapshot = n2.Snap("pv-2", "snap-2");
    for (MemoryNode& node : cluster.nodes) node.Connect();
    const auto calls = GoodCalls(cluster, n2.IdOf("pv-2"), snapshot);
    REQUIRE(calls.contains(method));
    REQUIRE_OK(calls.at(method)());
    const Heard heard = cluster.TakeMethods();
    switch (rpc.answered_by) {
      case AnsweredBy::kOwner:
        CHECK(heard == Heard{{"n2", {method}}});
        break;
      case AnsweredBy::kChosenNode:
        REQUIRE(heard.size() == 1);
        CHECK(heard.begin()->second == Methods{method});
        break;
      case AnsweredBy::kEveryNode:
        CHECK(heard == Heard{{"n1", {method}}, {"n2", {method}}});
        break;
      case AnsweredBy::kController:
        // The volume's node decides whether a volume that is to be published exists.
        if (method == "ControllerPublishVolume") {
          CHECK(heard == Heard{{"n2", {"ControllerGetVolume"}}});
        } else {
          CHECK(heard.empty());
        }
        break;
    }
  }
}

TEST_CASE("volumes of the controller's own pools are never a node's business") {
  Cluster cluster;
  cluster.Add("n1");
  cluster.Add("n2");
  const std::string id = cluster.CreateShared("shared-pv");
  CHECK_THAT(id, Catch::StartsWith("shared::"));
  CHECK(test::Value(cluster.Get(id)).volume().volume_id() == id);
  CHECK(test::Value(cluster.Expand(id, kGiB)).capacity_bytes() == kGiB);
  CHECK(test::Value(cluster.Validate(id)).has_confirmed());
  REQUIRE_OK(cluster.Publish(id, "n1"));
  REQUIRE_OK(cluster.Unpublish(id, "n1"));
  CHECK_FAILS(cluster.Publish(id, "n9"), kNotFound, "no node 'n9'");
  CHECK(test::Value(cluster.List()).entries_size() == 1);
  REQUIRE_OK(cluster.Delete(id));
  CHECK_FAILS(cluster.Get(id), kNotFound, "");
  CHECK(cluster.TakeMethods().empty());
}

TEST_CASE("a volume's life on its node") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  const csi::v1::Volume made = test::Value(cluster.Create(CreateOf("pv"))).volume();
  const std::string& id = made.volume_id();
  CHECK(id == node.IdOf("pv"));
  CHECK(test::Value(cluster.Get(id)).volume().capacity_bytes() == made.capacity_bytes());
  CHECK(test::Value(cluster.Get(id)).status().volume_condition().message() == "fine");
  CHECK(test::Value(cluster.Expand(id, kGiB)).capacity_bytes() == kGiB);
  CHECK(test::Value(cluster.Validate(id)).has_confirmed());
  CHECK(test::Value(cluster.Create(CreateOf("pv"))).volume().volume_id() == id);
  REQUIRE_OK(cluster.Delete(id));
  CHECK_FALSE(node.Has("pv"));
  CHECK(cluster.hub.names().Find("pv").empty());
  REQUIRE_OK(cluster.Delete(id));
  CHECK_FAILS(cluster.Get(id), kNotFound, "node 'n1'");
}

TEST_CASE("what is refused at once reaches no node") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  const std::string id = node.IdOf("pv");
  CHECK_FAILS(cluster.Delete(""), kInvalidArgument, "volume_id");
  CHECK_FAILS(cluster.Get(""), kInvalidArgument, "volume_id");
  CHECK_FAILS(cluster.Create(CreateOf("")), kInvalidArgument, "name");
  CHECK_FAILS(cluster.Call(&Stub::ControllerExpandVolume,
                           OfVolume<csi::v1::ControllerExpandVolumeRequest>(id)),
              kInvalidArgument, "capacity_range");
  CHECK_FAILS(cluster.Call(&Stub::ValidateVolumeCapabilities,
                           OfVolume<csi::v1::ValidateVolumeCapabilitiesRequest>(id)),
              kInvalidArgument, "volume_capabilities");
  CHECK_FAILS(cluster.Get("never made"), kNotFound, "never made");
  REQUIRE_OK(cluster.Delete("never made"));
  const std::string elsewhere =
      VolumeId{.pool = "ceph", .node = "", .uuid = RandomUuid()}.ToString();
  CHECK_FAILS(cluster.Get(elsewhere), kUnavailable, "not configured here");
  CHECK_FAILS(cluster.Delete(elsewhere), kUnavailable, "not configured here");
  CHECK_FAILS(cluster.Unpublish(elsewhere, "n1"), kUnavailable, "not configured here");
  CHECK(node.TakeMethods() == kNothing);
}

TEST_CASE("a volume of a node that is away is never said to be gone") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  REQUIRE_OK(cluster.Create(CreateOf("pv")));
  const std::string id = node.IdOf("pv");
  node.Leave();
  for (const std::string& one : {id, VolumeId{"default", "stranger", RandomUuid()}.ToString()}) {
    CHECK_FAILS(cluster.Get(one), kUnavailable, "is not connected");
    CHECK_FAILS(cluster.Delete(one), kUnavailable, "is not connected");
    CHECK_FAILS(cluster.Expand(one, kGiB), kUnavailable, "is not connected");
    CHECK_FAILS(cluster.Validate(one), kUnavailable, "is not connected");
    CHECK_FAILS(cluster.Publish(one, "n1"), kUnavailable, "is not connected");
    REQUIRE_OK(cluster.Unpublish(one, "n1"));
  }
  node.Connect();
  REQUIRE_OK(cluster.Get(id));
}

TEST_CASE("publishing: a node's volume to that node alone, one of the own pools to any") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  MemoryNode& n2 = cluster.Add("n2");
  REQUIRE_OK(cluster.Create(CreateOf("pv", {"n1"})));
  const std::string id = n1.IdOf("pv");
  const std::string shared = cluster.CreateShared("shared-pv");
  REQUIRE_OK(cluster.Publish(id, "n1"));
  CHECK_FAILS(cluster.Publish(id, "n2"), kFailedPrecondition, "is on node 'n1'");
  CHECK_FAILS(cluster.Publish(id, "n9"), kNotFound, "no node 'n9'");
  CHECK_FAILS(cluster.Publish(n1.IdOf("none"), "n1"), kNotFound, "");
  n2.Leave();
  REQUIRE_OK(cluster.Publish(shared, "n2"));  // on its way back
  CHECK_FAILS(cluster.Publish(id, "n2"), kFailedPrecondition, "is on node 'n1'");
}

TEST_CASE("a node's error has a code that the call has, and says which node speaks") {
  using absl::StatusCode;
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  const std::string id = node.IdOf("pv");
  for (const StatusCode code :
       {StatusCode::kNotFound, StatusCode::kAborted, StatusCode::kOutOfRange,
        StatusCode::kFailedPrecondition, StatusCode::kUnavailable, StatusCode::kInternal}) {
    node.Refuse(code);
    const absl::Status status = cluster.Get(id).status();
    CHECK(status.code() == code);
    CHECK(MessageOf(status) == "node 'n1': as the test wants it");
  }
  for (const StatusCode code : {StatusCode::kResourceExhausted, StatusCode::kAlreadyExists,
                                StatusCode::kUnimplemented, StatusCode::kUnauthenticated}) {
    node.Refuse(code);
    CHECK_FAILS(cluster.Get(id), kInternal, "node 'n1': as the test wants it");
    CHECK_FAILS(cluster.Delete(id), kInternal, "node 'n1': as the test wants it");
    CHECK_FAILS(cluster.Expand(id, kGiB), kInternal, "node 'n1': as the test wants it");
  }
  node.Refuse(StatusCode::kNotFound);
  REQUIRE_OK(cluster.Delete(id));
  node.Refuse(StatusCode::kAborted, "");
  CHECK_FAILS(cluster.Delete(id), kAborted, "does not say why");
}

TEST_CASE("an answer that is not about what was asked is refused") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  const std::string id = node.IdOf("pv");
  csi::v1::ControllerGetVolumeResponse described;
  described.mutable_volume()->set_volume_id(node.IdOf("other"));
  described.mutable_volume()->set_capacity_bytes(kMiB);
  node.Say(described);
  CHECK_FAILS(cluster.Get(id), kUnavailable, "the answer of node 'n1' is refused");
  csi::v1::ControllerExpandVolumeResponse expanded;
  expanded.set_capacity_bytes(kMiB);
  node.Say(expanded);
  CHECK_FAILS(cluster.Expand(id, kGiB), kUnavailable, "the answer of node 'n1' is refused");
  csi::v1::ValidateVolumeCapabilitiesResponse confirmed;
  confirmed.mutable_confirmed();
  node.Say(confirmed);
  CHECK_FAILS(cluster.Validate(id), kUnavailable, "the answer of node 'n1' is refused");
  node.Say(csi::v1::ValidateVolumeCapabilitiesResponse());
  CHECK_FAILS(cluster.Validate(id), kUnavailable, "the answer of node 'n1' is refused");
  link::v1::Result nonsense;
  nonsense.set_response("\xff\xff");
  node.SetAnswerer([nonsense](const auto&) { return nonsense; });
  CHECK_FAILS(cluster.Get(id), kUnavailable, "the answer of node 'n1' is refused");
  CHECK_FAILS(cluster.Delete(id), kUnavailable, "the answer of node 'n1' is refused");
}

TEST_CASE("of an answer only what the node can know is passed on") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  csi::v1::ControllerGetVolumeResponse described;
  csi::v1::Volume& volume = *described.mutable_volume();
  volume.set_volume_id(node.IdOf("pv"));
  volume.set_capacity_bytes(kMiB);
  (*volume.mutable_volume_context())["secret"] = "value";
  *volume.add_accessible_topology() = rpc::NodeTopology(test::kDriverName, "n2");
  described.mutable_status()->add_published_node_ids("n2");
  described.mutable_status()->mutable_volume_condition()->set_abnormal(true);
  described.mutable_status()->mutable_volume_condition()->set_message(std::string(10'000, 'x'));
  node.Say(described);
  const auto answer = test::Value(cluster.Get(node.IdOf("pv")));
  CHECK(answer.volume().volume_context().empty());
  REQUIRE(answer.volume().accessible_topology_size() == 1);
  CHECK(NodeOf(answer.volume().accessible_topology(0), test::kDriverName) == "n1");
  CHECK(answer.status().published_node_ids().empty());
  CHECK(answer.status().volume_condition().abnormal());
  CHECK(answer.status().volume_condition().message().size() < 500);
}

TEST_CASE("secrets stay with the controller") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  const auto key_of = [](auto request) {
    (*request.mutable_secrets())["key"] = "hush";
    return request;
  };
  REQUIRE_OK(cluster.Create(key_of(CreateOf("pv"))));
  const std::string id = node.IdOf("pv");
  auto expansion = key_of(OfVolume<csi::v1::ControllerExpandVolumeRequest>(id));
  expansion.mutable_capacity_range()->set_required_bytes(kGiB);
  REQUIRE_OK(cluster.Call(&Stub::ControllerExpandVolume, expansion));
  auto validation = key_of(OfVolume<csi::v1::ValidateVolumeCapabilitiesRequest>(id));
  *validation.add_volume_capabilities() = test::MountCapability();
  REQUIRE_OK(cluster.Call(&Stub::ValidateVolumeCapabilities, validation));
  REQUIRE_OK(cluster.Call(&Stub::DeleteVolume, key_of(OfVolume<csi::v1::DeleteVolumeRequest>(id))));
  const auto commands = node.TakeCommands();
  CHECK(commands.size() == 4);
  for (const link::v1::Command& command : commands) {
    CAPTURE(command.method());
    CHECK_THAT(command.request(), !Catch::Contains("hush"));
  }
}

TEST_CASE("two calls at once for one volume, or one name, are one too many") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  const std::string id = node.IdOf("pv");
  node.KeepSilent();
  auto creation = std::async(std::launch::async, [&] { return cluster.Create(CreateOf("pv")); });
  node.AwaitCommand();
  CHECK_FAILS(cluster.Create(CreateOf("pv")), kAborted, "CreateVolume");
  node.Die();
  CHECK_FAILS(creation.get(), kUnavailable, "broke; try again");
  (void)node.TakeMethods();
  node.Connect();
  auto deletion = std::async(std::launch::async, [&] { return cluster.Delete(id); });
  node.AwaitCommand();
  CHECK_FAILS(cluster.Delete(id), kAborted, "DeleteVolume");
  node.Die();
  CHECK_FAILS(deletion.get(), kUnavailable, "broke; try again");
}

TEST_CASE("one name is one volume, of the own pools as of the nodes") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  csi::v1::CreateVolumeRequest of_shared = CreateOf("pv");
  (*of_shared.mutable_parameters())["pool"] = "shared";
  REQUIRE_OK(cluster.Create(CreateOf("pv")));
  CHECK_FAILS(cluster.Create(of_shared), kAlreadyExists, "node 'n1' has a volume named 'pv'");
  REQUIRE_OK(cluster.Delete(node.IdOf("pv")));
  REQUIRE_OK(cluster.Create(of_shared));
  CHECK_FAILS(cluster.Create(CreateOf("pv")), kAlreadyExists, "in pool 'shared'");
}

TEST_CASE("capacity: of all nodes, of one, of the controller's own pool") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1", 3 * kGiB);
  cluster.Add("n2", 5 * kGiB);
  CHECK(test::Value(cluster.Capacity()) == 8 * kGiB);
  CHECK(test::Value(cluster.Capacity("n2")) == 5 * kGiB);
  CHECK(test::Value(cluster.Capacity("", "shared")) == kTiB);
  CHECK(test::Value(cluster.Capacity("", "none")) == 0);
  const auto all = test::Value(cluster.Call(&Stub::GetCapacity, {}));
  CHECK(all.maximum_volume_size().value() == 5 * kGiB);
  csi::v1::GetCapacityRequest foreign;
  (*foreign.mutable_accessible_topology()->mutable_segments())["zone"] = "z";
  CHECK(test::Value(cluster.Call(&Stub::GetCapacity, foreign)).available_capacity() == 0);
  csi::v1::GetCapacityRequest by_many;
  *by_many.add_volume_capabilities() = test::MountCapability();
  by_many.mutable_volume_capabilities(0)->mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::MULTI_NODE_MULTI_WRITER);
  CHECK(test::Value(cluster.Call(&Stub::GetCapacity, by_many)).available_capacity() == 0);
  // "No room" would be false for a node that is away.
  n1.Leave();
  CHECK_FAILS(cluster.Capacity("n1"), kUnavailable, "'n1' is not connected");
  CHECK(test::Value(cluster.Capacity()) == 5 * kGiB);
}

}  // namespace router_test
}  // namespace holdfast::controller
