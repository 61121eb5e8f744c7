// SPDX-License-Identifier: Apache-2.0
// Group snapshots over several nodes: what the nodes are told and when, what a node that fails,
// leaves or lies does to the group, and how what is undecided ends.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>

#include "controller/group_messages.h"
#include "controller/undecided_groups.h"
#include "pool/undecided.h"
#include "support/memory_cluster.h"

namespace holdfast::controller {
namespace group_nodes_test {

using test::CreateOf;
using test::MemoryNode;
using test::Value;
using Cluster = test::MemoryCluster;
using Texts = std::vector<std::string>;

absl::Status StatusFrom(const grpc::Status& status) {
  return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// Two nodes with a volume each. The deciding member is on n1, whose id is less.
struct Fixture {
  absl::StatusOr<csi::v1::VolumeGroupSnapshot> Create(const Texts& volumes) {
    csi::v1::CreateVolumeGroupSnapshotRequest request;
    request.set_name("group");
    for (const std::string& volume : volumes) request.add_source_volume_ids(volume);
    csi::v1::CreateVolumeGroupSnapshotResponse response;
    RETURN_IF_ERROR(
        StatusFrom(cluster.groups.CreateVolumeGroupSnapshot(nullptr, &request, &response)));
    return response.group_snapshot();
  }
  absl::StatusOr<csi::v1::VolumeGroupSnapshot> Create() { return Create({one, two}); }
  absl::StatusOr<csi::v1::VolumeGroupSnapshot> Get(const Texts& members) {
    csi::v1::GetVolumeGroupSnapshotRequest request;
    request.set_group_snapshot_id(group);
    for (const std::string& member : members) request.add_snapshot_ids(member);
    csi::v1::GetVolumeGroupSnapshotResponse response;
    RETURN_IF_ERROR(
        StatusFrom(cluster.groups.GetVolumeGroupSnapshot(nullptr, &request, &response)));
    return response.group_snapshot();
  }
  absl::Status Delete(const Texts& members) {
    csi::v1::DeleteVolumeGroupSnapshotRequest request;
    request.set_group_snapshot_id(group);
    for (const std::string& member : members) request.add_snapshot_ids(member);
    csi::v1::DeleteVolumeGroupSnapshotResponse response;
    return StatusFrom(cluster.groups.DeleteVolumeGroupSnapshot(nullptr, &request, &response));
  }
  static Texts IdsOf(const csi::v1::VolumeGroupSnapshot& made) {
    Texts ids;
    for (const auto& snapshot : made.snapshots()) ids.push_back(snapshot.snapshot_id());
    return ids;
  }
  static std::size_t Members(MemoryNode& node) {
    return Value(node.pool().ListSnapshots("", 0)).size();
  }
  // Every answer of the node to this method is an error, without its doing anything.
  static void RefuseAt(MemoryNode& node, const std::string& method) {
    node.SetAnswerer([&node, method](const link::v1::Command& command) {
      if (command.method() != method) return std::optional(node.Carry(command));
      link::v1::Result refused;
      refused.set_code(static_cast<int>(absl::StatusCode::kInternal));
      refused.set_message("refused, as the test wants it");
      return std::optional(refused);
    });
  }

  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  MemoryNode& n2 = cluster.Add("n2");
  const std::string one = Value(cluster.Create(CreateOf("one", {"n1"}))).volume().volume_id();
  const std::string two = Value(cluster.Create(CreateOf("two", {"n2"}))).volume().volume_id();
  const std::string group = GroupIdOf(test::kDriverName, "group");
};

TEST_CASE_METHOD(Fixture, "every node takes a step before any takes the next one") {
  std::mutex mutex;
  Texts order;
  for (MemoryNode* const node : {&n1, &n2}) {
    node->SetAnswerer([&, node](const link::v1::Command& command) {
      const auto answer = node->Carry(command);
      const std::lock_guard lock(mutex);
      order.push_back(command.method());
      return std::optional(answer);
    });
  }
  const auto made = Value(Create());
  const Texts wanted = {kEndGroup, kEndGroup, kEndGroup,  kHoldGroup, kHoldGroup,
                        kCutGroup, kCutGroup, kSealGroup, kSealGroup, kEndGroup,
                        kEndGroup, kEndGroup, kFindGroup, kFindGroup};
  CHECK(order == wanted);
  CHECK(made.group_snapshot_id() == group);
  CHECK(made.snapshots_size() == 2);
  CHECK(Value(Create()).SerializeAsString() == made.SerializeAsString());
  CHECK(Value(Get(IdsOf(made))).SerializeAsString() == made.SerializeAsString());
  REQUIRE_OK(Delete(IdsOf(made)));
  CHECK(Members(n1) + Members(n2) == 0);
  CHECK_FAILS(Get(IdsOf(made)), kNotFound, "no group snapshot");
}

TEST_CASE_METHOD(Fixture,
                 "a group with a volume that every node reaches is cut by the controller") {
  const std::string shared = cluster.CreateShared("shared");
  const auto made = Value(Create({one, shared}));
  CHECK(made.snapshots_size() == 2);
  REQUIRE_OK(Delete(IdsOf(made)));
  CHECK(Value(cluster.own.pools.ListSnapshots("", 0)).empty());
}

TEST_CASE_METHOD(Fixture, "volumes that every node reaches are held before nodes are asked to") {
  const std::string shared = cluster.CreateShared("shared");
  auto& pool = static_cast<test::MemoryPool&>(*Value(cluster.own.pools.Find("shared")));
  std::atomic<bool> first{false};
  n1.SetAnswerer([&](const link::v1::Command& command) {
    if (command.method() == kHoldGroup) first = pool.TakeSteps().back() == "hold";
    return std::optional(n1.Carry(command));
  });
  REQUIRE_OK(Create({one, shared}).status());
  CHECK(first);
}

TEST_CASE_METHOD(Fixture, "a step that one node refuses undoes the group on all") {
  for (const char* const method : {kHoldGroup, kCutGroup, kSealGroup}) {
    CAPTURE(method);
    RefuseAt(n2, method);
    CHECK_FAILS(Create(), kInternal, "node 'n2'");
    n2.AnswerAgain();
    for (MemoryNode* const node : {&n1, &n2}) {
      CHECK(Members(*node) == 0);
      CHECK(node->pool().Undecided().empty());
    }
    REQUIRE_OK(Delete(IdsOf(Value(Create()))));
  }
}

TEST_CASE_METHOD(Fixture, "writers that cannot be held are counted over all nodes") {
  csi::v1::CreateVolumeRequest block = CreateOf("raw", {"n1"});
  block.mutable_volume_capabilities(0)->mutable_block();
  const std::string raw = Value(cluster.Create(block)).volume().volume_id();
  *block.mutable_accessibility_requirements()->mutable_requisite(0) =
      rpc::NodeTopology(test::kDriverName, "n2");
  block.set_name("raw too");
  const std::string raw_too = Value(cluster.Create(block)).volume().volume_id();
  CHECK_FAILS(Create({raw, raw_too}), kFailedPrecondition, "neither can be frozen");
  CHECK(Value(Create({raw, two})).snapshots_size() == 2);
}

TEST_CASE_METHOD(Fixture, "a node that is away is no reason to say that a group is not there") {
  const auto made = Value(Create());
  n2.Leave();
  CHECK_FAILS(Get(IdsOf(made)), kUnavailable, "n2");
  CHECK_FAILS(Delete(IdsOf(made)), kUnavailable, "n2");
  CHECK_FAILS(Create(), kUnavailable, "n2");
  CHECK(Members(n1) == 1);
  n2.Connect();
  CHECK(Value(Create()).SerializeAsString() == made.SerializeAsString());
  REQUIRE_OK(Delete(IdsOf(made)));
}

TEST_CASE_METHOD(Fixture,
                 "another set of volumes of the same name is refused on other nodes, too") {
  REQUIRE_OK(Create({one}).status());
  CHECK_FAILS(Create({two}), kAlreadyExists, "other volumes");
  n1.Connect();  // it names what it has
  CHECK_FAILS(Create({two}), kAlreadyExists, "other volumes");
}

TEST_CASE_METHOD(Fixture, "a group whose first member is kept is completed by a repetition") {
  RefuseAt(n2, kEndGroup);
  CHECK_FAILS(Create(), kUnavailable, "node 'n2'");
  // The first End, before anything is cut, was refused.
  CHECK(Members(n1) == 0);
  int ends = 0;
  n2.SetAnswerer([&](const link::v1::Command& command) {
    if (command.method() != kEndGroup || ++ends < 2) return std::optional(n2.Carry(command));
    link::v1::Result refused;
    refused.set_code(static_cast<int>(absl::StatusCode::kInternal));
    return std::optional(refused);
  });
  CHECK_FAILS(Create(), kUnavailable, "node 'n2'");
  CHECK(Members(n1) == 1);
  CHECK(Members(n2) == 0);
  CHECK(n2.pool().Undecided().size() == 1);
  n2.AnswerAgain();
  CHECK(Value(Create()).snapshots_size() == 2);
}

// What n2 says when it connects is what a real node says.
struct Undecided : Fixture {
  UndecidedGroups ended{cluster.hub, cluster.own.service->groups(), cluster.own.locks,
                        std::chrono::milliseconds(5)};
  void Leave(bool decided) {
    GroupPlaces places(cluster.own.service->groups(), &cluster.hub, test::Patience());
    auto parts = Value(places.OfSources(group,
                                        {.name = "group",
                                         .sources = {*VolumeId::Parse(one), *VolumeId::Parse(two)},
                                         .parameters = {}},
                                        {}));
    REQUIRE_OK(GroupCut(group, parts, {}).Make());
    if (decided) REQUIRE_OK(parts[0].site->End(group, parts[0].members, true).status());
    n1.Restart();
    n2.Restart();
    REQUIRE_OK(ended.Start());
    test::Await([&] { return n2.pool().Undecided().empty(); });
  }
};

TEST_CASE_METHOD(Undecided, "what is undecided is kept if the deciding member is there") {
  Leave(/*decided=*/true);
  CHECK(Members(n1) == 1);
  CHECK(Members(n2) == 1);
  CHECK(Value(Create()).snapshots_size() == 2);
}

TEST_CASE_METHOD(Undecided, "what is undecided is removed if the deciding member is not kept") {
  Leave(/*decided=*/false);
  CHECK(Members(n1) == 0);
  CHECK(Members(n2) == 0);
  CHECK(n1.pool().Undecided().empty());
}

// The controller's own member, of which a node has the deciding one.
struct SharedUndecided : Fixture {
  SharedUndecided() {
    parts = Value(places.OfSources(group,
                                   {.name = "group",
                                    .sources = {*VolumeId::Parse(one), *VolumeId::Parse(shared)},
                                    .parameters = {}},
                                   {}));
    GroupCut made(group, parts, {});
    REQUIRE_OK(made.Make());
    REQUIRE(pool.Undecided().size() == 1);
    member = pool.Undecided().front().id;
    decides = *ParseSnapshotId(parts[0].part.group.members.front());
    REQUIRE(decides.node == "n1");
  }
  absl::StatusOr<bool> EndUndecided() {
    return pool::EndUndecided(cluster.own.pools, cluster.own.locks, member,
                              [&](const std::string& name, const VolumeId& deciding) {
                                return undecided.IsKept(name, deciding);
                              });
  }

  const std::string shared = cluster.CreateShared("shared");
  test::MemoryPool& pool = static_cast<test::MemoryPool&>(*Value(cluster.own.pools.Find("shared")));
  GroupPlaces places{cluster.own.service->groups(), &cluster.hub, test::Patience()};
  UndecidedGroups undecided{cluster.hub, cluster.own.service->groups(), cluster.own.locks};
  std::vector<GroupPlace> parts;
  VolumeId member;
  VolumeId decides;
};

TEST_CASE_METHOD(SharedUndecided, "the controller asks the node that decides about its own") {
  SECTION("which has kept it") {
    REQUIRE_OK(places.SiteOf(decides).End(group, {decides}, true).status());
    CHECK(Value(EndUndecided()));
    CHECK(Value(pool.MembersOf(group)).size() == 1);
  }
  SECTION("which has not") {
    CHECK(Value(EndUndecided()));
    CHECK(Value(pool.MembersOf(group)).empty());
    CHECK(Members(n1) == 0);
  }
  SECTION("which is away") {
    n1.Leave();
    CHECK_FAILS(EndUndecided(), kUnavailable, "n1");
    CHECK(pool.Undecided().size() == 1);
    return;
  }
  CHECK(pool.Undecided().empty());
  CHECK_FALSE(Value(EndUndecided()));
}

TEST_CASE_METHOD(Fixture, "a node is believed about its own members only") {
  const auto made = Value(Create());
  const auto lie = [&](const std::string& method, const google::protobuf::Message& answer) {
    link::v1::Result result;
    result.set_response(answer.SerializeAsString());
    n2.SetAnswerer([this, method, result](const link::v1::Command& command) {
      return std::optional(command.method() == method ? result : n2.Carry(command));
    });
  };
  link::v1::FoundGroup found;
  for (const std::string& id : IdsOf(made)) found.add_members(id);
  *found.add_snapshots() = made.snapshots(0);
  SECTION("a member of another node") {
    lie(kFindGroup, found);
    CHECK_FAILS(Get(IdsOf(made)), kUnavailable, "is refused");
  }
  *found.mutable_snapshots(0) = made.snapshots(1);
  SECTION("a group without the member that it names") {
    found.mutable_members()->RemoveLast();
    lie(kFindGroup, found);
    CHECK_FAILS(Get(IdsOf(made)), kUnavailable, "is refused");
  }
  SECTION("other members than the other node says") {
    found.set_members(0, "s:default:n0:" + RandomUuid());
    lie(kFindGroup, found);
    CHECK_FAILS(Get(IdsOf(made)), kUnavailable, "contradict");
  }
  SECTION("a member twice") {
    *found.add_snapshots() = found.snapshots(0);
    lie(kFindGroup, found);
    CHECK_FAILS(Get(IdsOf(made)), kUnavailable, "twice");
  }
  SECTION("members that it was not asked about") {
    link::v1::GroupMembers ended;
    ended.add_members(IdsOf(made)[0]);
    lie(kEndGroup, ended);
    CHECK_FAILS(Create(), kUnavailable, "is refused");
  }
  SECTION("volumes that it was not asked to cut") {
    REQUIRE_OK(Delete(IdsOf(made)));
    link::v1::Unheld unheld;
    unheld.add_volumes(one);
    lie(kHoldGroup, unheld);
    CHECK_FAILS(Create(), kUnavailable, "is refused");
    CHECK(Members(n1) == 0);
  }
}

TEST_CASE_METHOD(Fixture, "a node carries out no command about a group that cannot be") {
  const auto carry = [&](const char* method, const google::protobuf::Message& request) {
    link::v1::Command command;
    command.set_method(method);
    command.set_request(request.SerializeAsString());
    return n1.Carry(command).code();
  };
  link::v1::GroupPart part;
  CHECK(carry(kHoldGroup, part) == grpc::StatusCode::INVALID_ARGUMENT);
  part.set_group(group);
  part.add_members("s:default:n1:" + RandomUuid());
  part.add_sources(one);
  CHECK(carry(kHoldGroup, part) == grpc::StatusCode::INVALID_ARGUMENT);  // no attempt
  part.set_attempt(RandomUuid());
  CHECK(carry(kCutGroup, part) == grpc::StatusCode::ABORTED);
  part.set_sources(0, "nonsense");
  CHECK(carry(kHoldGroup, part) == grpc::StatusCode::INVALID_ARGUMENT);
  link::v1::GroupEnd end;
  end.add_members("nonsense");
  CHECK(carry(kEndGroup, end) == grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace group_nodes_test
}  // namespace holdfast::controller
