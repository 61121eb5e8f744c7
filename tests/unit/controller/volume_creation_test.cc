// SPDX-License-Identifier: Apache-2.0
#include "controller/volume_creation.h"

#include <catch2/catch.hpp>
#include <list>

#include "support/await.h"
#include "support/csi_requests.h"
#include "support/in_process_server.h"
#include "support/link_peer.h"
#include "support/memory_node.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace volume_creation_test {

using std::chrono::milliseconds;
using test::CreateOf;
using test::In;
using test::MemoryNode;
using test::Patience;
using Methods = std::vector<std::string>;

constexpr milliseconds kNow{0};
constexpr milliseconds kSoon{20};
constexpr std::chrono::hours kNever{1};

const Methods kNothing;
const Methods kCreate = {"CreateVolume"};

struct Cluster {
  explicit Cluster(const link::HubTimes& times = {.reconnect_grace = kSoon, .settle = kNow})
      : hub(test::kDriverName, belief, times) {}

  MemoryNode& Add(const std::string& name, Bytes room = kTiB) {
    return nodes.emplace_back(hub, server, name, room);
  }

  absl::StatusOr<csi::v1::Volume> Create(const csi::v1::CreateVolumeRequest& request,
                                         link::Deadline deadline = Patience()) {
    ASSIGN_OR_RETURN(const PlacementRequest wanted, VolumeCreation::ParsePlacementRequest(request));
    csi::v1::CreateVolumeResponse response;
    RETURN_IF_ERROR(creation.Create(request, wanted, deadline, response));
    return response.volume();
  }
  // The node on which a new volume with that name was created.
  std::string PlaceOf(const csi::v1::CreateVolumeRequest& request) {
    const csi::v1::Volume volume = test::Value(Create(request));
    const auto id = VolumeId::Parse(volume.volume_id());
    REQUIRE(id);
    CHECK(volume.capacity_bytes() >= request.capacity_range().required_bytes());
    CHECK(volume.accessible_topology_size() == 1);
    CHECK(NodeOf(volume.accessible_topology(0), test::kDriverName) == id->node);
    return id->node;
  }

  test::Belief belief;
  link::Hub hub;
  KeyLock locks;
  absl::StatusOr<Content> own_content = NotFound("there is no such snapshot");
  VolumeCreation creation{test::kDriverName,
                          hub,
                          locks,
                          nullptr,
                          {.describe = [this](const std::string&) { return own_content; },
                           .hold = nullptr,
                           .release = nullptr}};
  test::InProcessServer server{&hub.service()};
  std::list<MemoryNode> nodes;  // the last: their streams belong to the server
};

// The node carries out what it is asked and dies before it answers.
void LoseAnswers(MemoryNode& node) {
  node.SetAnswerer([&node](const auto& command) -> std::optional<link::v1::Result> {
    (void)node.Carry(command);
    node.Die();
    return std::nullopt;
  });
}

TEST_CASE("a volume that may be anywhere is made where most room is") {
  Cluster cluster;
  cluster.Add("n1", 10 * kMiB);
  cluster.Add("n2", 30 * kMiB);
  cluster.Add("n3", 20 * kMiB);
  CHECK(cluster.PlaceOf(CreateOf("pv")) == "n2");
  CHECK_FAILS(cluster.Create(CreateOf("large", {}, kGiB)), kResourceExhausted,
              "3 without room or pool, 0 not connected");
}

TEST_CASE("the requirement decides before the room does") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1", kGiB);
  MemoryNode& n2 = cluster.Add("n2", 30 * kMiB);
  MemoryNode& n3 = cluster.Add("n3", 20 * kMiB);
  CHECK(cluster.PlaceOf(CreateOf("a", {"n3", "n2"})) == "n3");
  csi::v1::CreateVolumeRequest preferring = CreateOf("b", {"n3", "n2"});
  *preferring.mutable_accessibility_requirements()->add_preferred() =
      rpc::NodeTopology(test::kDriverName, "n2");
  CHECK(cluster.PlaceOf(preferring) == "n2");
  CHECK(cluster.PlaceOf(CreateOf("c", {"n3", "n2"}, 25 * kMiB)) == "n2");
  CHECK_FAILS(cluster.Create(CreateOf("d", {"n3", "n2"}, 40 * kMiB)), kResourceExhausted,
              "has room");
  csi::v1::CreateVolumeRequest foreign = CreateOf("e");
  (*foreign.mutable_accessibility_requirements()->add_requisite()->mutable_segments())["zone"] =
      "z";
  CHECK_FAILS(cluster.Create(foreign), kResourceExhausted, "has Holdfast volumes");
  CHECK(n1.TakeMethods() == kNothing);
  CHECK(n2.TakeMethods().size() == 2);
  CHECK(n3.TakeMethods().size() == 1);
}

TEST_CASE("a node is sent what it has to know, and no secrets") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  csi::v1::CreateVolumeRequest request = CreateOf("pv", {"n0", "n1", "n2"});
  (*request.mutable_secrets())["key"] = "secret";
  CHECK(cluster.PlaceOf(request) == "n1");
  csi::v1::CreateVolumeRequest sent;
  const auto commands = node.TakeCommands();
  REQUIRE(commands.size() == 1);
  REQUIRE(sent.ParseFromString(commands.front().request()));
  CHECK(sent.name() == "pv");
  CHECK(sent.secrets().empty());
  const auto& places = sent.accessibility_requirements();
  REQUIRE(places.requisite_size() == 1);
  CHECK(places.preferred_size() == 0);
  CHECK(NodeOf(places.requisite(0), test::kDriverName) == "n1");
}

TEST_CASE("a request that says too little is refused before any node hears of it") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  CHECK_FAILS(cluster.Create(CreateOf("")), kInvalidArgument, "name");
  csi::v1::CreateVolumeRequest bare = CreateOf("pv");
  bare.clear_volume_capabilities();
  CHECK_FAILS(cluster.Create(bare), kInvalidArgument, "volume_capabilities");
  csi::v1::CreateVolumeRequest odd = CreateOf("pv");
  (*odd.mutable_parameters())["colour"] = "red";
  CHECK_FAILS(cluster.Create(odd), kInvalidArgument, "colour");
  CHECK(node.TakeMethods() == kNothing);
}

TEST_CASE("a volume that is there is found again, whichever node has more room now") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1", 50 * kMiB);
  CHECK(cluster.PlaceOf(CreateOf("pv")) == "n1");
  MemoryNode& n2 = cluster.Add("n2", kGiB);
  CHECK(cluster.PlaceOf(CreateOf("pv")) == "n1");
  CHECK(n1.TakeMethods() == Methods{"CreateVolume", "CreateVolume"});
  n2.Make("old");
  n2.Connect();
  CHECK(cluster.PlaceOf(CreateOf("old")) == "n2");  // from before the controller's start
  n2.Leave();
  CHECK_FAILS(cluster.Create(CreateOf("old")), kUnavailable, "'n2' is not connected");
  CHECK_FALSE(n1.Has("old"));
}

TEST_CASE("a name that is a volume where the request does not allow it is taken") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  MemoryNode& n2 = cluster.Add("n2");
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1"})) == "n1");
  CHECK_FAILS(cluster.Create(CreateOf("pv", {"n2"})), kAlreadyExists, "node 'n1' has a volume");
  CHECK_FAILS(cluster.creation.LeaveNodes("pv"), kAlreadyExists, "node 'n1' has a volume");
  n1.Leave();
  CHECK_FAILS(cluster.Create(CreateOf("pv", {"n2"})), kUnavailable, "not connected");
  CHECK_FAILS(cluster.creation.LeaveNodes("pv"), kUnavailable, "not connected");
  CHECK(n2.TakeMethods() == kNothing);
  REQUIRE_OK(cluster.creation.LeaveNodes("other"));
}

TEST_CASE("a node that refuses is followed by the next, up to a limit") {
  Cluster cluster;
  const std::vector<std::string> names = {"n1", "n2", "n3", "n4", "n5", "n6"};
  for (const std::string& name : names) cluster.Add(name);
  MemoryNode& last = cluster.nodes.back();
  const auto refuse = [&](absl::StatusCode code) {
    for (MemoryNode& node : cluster.nodes) {
      (void)node.TakeMethods();
      if (&node != &last) node.Refuse(code, "no from " + node.name());
    }
  };
  // The next node may have the space that this one lacks.
  refuse(absl::StatusCode::kResourceExhausted);
  CHECK(cluster.PlaceOf(CreateOf("a", names)) == "n6");
  for (MemoryNode& node : cluster.nodes) CHECK(node.TakeMethods() == kCreate);
  // Other refusals would be the same on every node.
  refuse(absl::StatusCode::kInvalidArgument);
  CHECK_FAILS(cluster.Create(CreateOf("b", names)), kInvalidArgument, "node 'n4': no from n4");
  CHECK(last.TakeMethods() == kNothing);
  // If a node did not name the volume when it connected, it is not believed to have it.
  refuse(absl::StatusCode::kAlreadyExists);
  CHECK(cluster.PlaceOf(CreateOf("c", {"n1", "n6"})) == "n6");
}

TEST_CASE("a code that no creation has becomes INTERNAL") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  node.Refuse(absl::StatusCode::kNotFound);
  CHECK_FAILS(cluster.Create(CreateOf("pv", {"n1"})), kInternal, "node 'n1': as the test wants it");
  node.AnswerAgain();
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1"})) == "n1");
}

// The node's own answer, with another volume in it.
MemoryNode::Answerer Lying(MemoryNode& node, std::function<void(csi::v1::Volume&)> lie) {
  return [&node, lie = std::move(lie)](const link::v1::Command& command) {
    link::v1::Result result = node.Carry(command);
    csi::v1::CreateVolumeResponse response;
    if (response.ParseFromString(result.response())) lie(*response.mutable_volume());
    result.set_response(response.SerializeAsString());
    return result;
  };
}

TEST_CASE("a node whose answer is not believed loses the volume to the next") {
  Cluster cluster;
  MemoryNode& liar = cluster.Add("n1");
  SECTION("another volume") {
    liar.SetAnswerer(Lying(liar, [](auto& volume) { volume.set_volume_id("default:n2:x"); }));
  }
  SECTION("too small a one") {
    liar.SetAnswerer(Lying(liar, [](auto& volume) { volume.set_capacity_bytes(4096); }));
  }
  SECTION("no message") {
    liar.SetAnswerer([](const auto&) {
      link::v1::Result result;
      result.set_response("\xff\xff");
      return result;
    });
  }
  CHECK_FAILS(cluster.Create(CreateOf("alone", {"n1"})), kUnavailable, "is refused");
  MemoryNode& n2 = cluster.Add("n2");
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1", "n2"})) == "n2");
  CHECK(cluster.hub.names().FindSuperseded("pv", "n1"));
  // The repeated call returns n2's volume, whatever n1 has.
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1", "n2"})) == "n2");
  CHECK(n2.Has("pv"));
}

TEST_CASE("only room of nodes that are there counts; of absent ones it is not known") {
  Cluster cluster;
  cluster.Add("n1", kMiB);
  CHECK_FAILS(cluster.Create(CreateOf("a", {"gone"})), kResourceExhausted, "1 not connected");
  CHECK_FAILS(cluster.Create(CreateOf("b", {"gone", "away"})), kUnavailable, "2 not connected");
  CHECK_FAILS(cluster.Create(CreateOf("c", {"gone", "n1"}, kGiB)), kUnavailable, "1 not connected");
  CHECK(cluster.PlaceOf(CreateOf("d", {"gone", "n1"})) == "n1");
}

TEST_CASE("after a start nothing is made until it is known what the nodes have") {
  Cluster cluster({.reconnect_grace = kNever, .settle = kNever, .longest_settle = kNever});
  CHECK_FAILS(cluster.Create(CreateOf("pv"), In(kSoon)), kUnavailable, "has just started");
  MemoryNode& n1 = cluster.Add("n1");
  CHECK_FAILS(cluster.Create(CreateOf("pv"), In(kSoon)), kUnavailable, "has just started");
  CHECK_FAILS(cluster.Create(CreateOf("pv", {"n1", "n2"}), In(kSoon)), kUnavailable,
              "has just started");
  CHECK(n1.TakeMethods() == kNothing);
  // If only one node may have it, that node is enough.
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1"})) == "n1");
  CHECK_FAILS(cluster.Create(CreateOf("other", {"n2"}), In(kSoon)), kUnavailable,
              "has just started");
}

TEST_CASE("a creation whose answer was lost is repeated on its node while that is there") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  MemoryNode& n2 = cluster.Add("n2");
  LoseAnswers(n1);
  CHECK_FAILS(cluster.Create(CreateOf("pv", {"n1", "n2"})), kUnavailable, "broke; try again");
  CHECK(n1.Has("pv"));
  n1.AnswerAgain();
  n1.Connect();
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1", "n2"})) == "n1");
  CHECK(n2.TakeMethods() == kNothing);
}

TEST_CASE("a creation in doubt on a node that is away is given up there, and made elsewhere") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  MemoryNode& n2 = cluster.Add("n2");
  LoseAnswers(n1);
  CHECK_FAILS(cluster.Create(CreateOf("pv", {"n1", "n2"})), kUnavailable, "broke; try again");
  n1.Leave();
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1", "n2"})) == "n2");
  CHECK(cluster.hub.names().FindSuperseded("pv", "n1"));
  // n1's volume with that name is not the volume, even if n1 returns and reports it.
  n1.AnswerAgain();
  n1.Connect();
  CHECK(n1.Has("pv"));
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1", "n2"})) == "n2");
  // Before n1 may create a volume with that name again, the old one is deleted there.
  (void)n1.TakeMethods();
  const VolumeId made = *VolumeId::Parse(n2.IdOf("pv"));
  cluster.hub.names().Deleted(made);
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1"})) == "n1");
  CHECK(n1.TakeMethods() == Methods{"DeleteVolume", "CreateVolume"});
  CHECK_FALSE(cluster.hub.names().FindSuperseded("pv", "n1"));
}

TEST_CASE("a node that is there and does not answer keeps a creation only for some calls") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  MemoryNode& n2 = cluster.Add("n2");
  n1.KeepSilent();
  const auto request = CreateOf("pv", {"n1", "n2"});
  CHECK_FAILS(cluster.Create(request, In(kSoon)), kDeadlineExceeded, "'n1' has not answered yet");
  for (int call = 1; call < 3; ++call) {
    CHECK_FAILS(cluster.Create(request, In(kSoon)), kDeadlineExceeded, "'n1' has not answered yet");
  }
  CHECK(n2.TakeMethods() == kNothing);
  // The call in which the wait for a node ends has no time left for another node.
  (void)cluster.Create(request, In(kSoon));
  CHECK(cluster.PlaceOf(request) == "n2");
  CHECK(cluster.hub.names().FindSuperseded("pv", "n1"));
}

TEST_CASE("a node that alone may have the volume keeps a creation, however long it is silent") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  n1.KeepSilent();
  for (int call = 0; call < 6; ++call) {
    CHECK_FAILS(cluster.Create(CreateOf("pv", {"n1"}), In(kSoon)), kDeadlineExceeded, "'n1'");
  }
  CHECK_FALSE(cluster.hub.names().FindSuperseded("pv", "n1"));
  n1.AnswerAgain();
  CHECK(cluster.PlaceOf(CreateOf("pv", {"n1"})) == "n1");
}

TEST_CASE("a creation in doubt gives way to a volume that no node makes") {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  n1.KeepSilent();
  CHECK_FAILS(cluster.Create(CreateOf("pv"), In(kSoon)), kDeadlineExceeded, "'n1'");
  REQUIRE_OK(cluster.creation.LeaveNodes("pv"));
  CHECK(cluster.hub.names().FindSuperseded("pv", "n1"));
}

constexpr char kOwnSnapshot[] = "s:ceph::0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";

TEST_CASE("a snapshot of the controller's own pools is read by the node itself") {
  Cluster cluster;
  cluster.own_content = Content{.capacity_bytes = 8 * kMiB,
                                .data_bytes = kMiB,
                                .sector_size = 512,
                                .access_type = AccessType::kMount,
                                .filesystem = "ext4",
                                .inherited_uuids = {},
                                .version = "1"};
  MemoryNode& n1 = cluster.Add("n1");
  csi::v1::CreateVolumeRequest request = CreateOf("copy");
  request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(kOwnSnapshot);
  CHECK(cluster.PlaceOf(request) == "n1");
  const std::vector<link::v1::Command> commands = n1.TakeCommands();
  REQUIRE(commands.size() == 1);
  CHECK(commands.front().incoming().content().version() == "1");
  CHECK(commands.front().incoming().ticket().empty());
  CHECK(commands.front().incoming().snapshot() == kOwnSnapshot);

  // When it is gone, what was made of it is still found.
  cluster.own_content = NotFound("there is no snapshot");
  CHECK(cluster.PlaceOf(request) == "n1");
  request.set_name("late");
  CHECK_FAILS(cluster.Create(request), kNotFound, "there is no snapshot");
  CHECK_FALSE(n1.Has("late"));
}

}  // namespace volume_creation_test
}  // namespace holdfast::controller
