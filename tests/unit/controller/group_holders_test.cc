// SPDX-License-Identifier: Apache-2.0
// Group snapshots of volumes that every node reaches and nodes have mounted: the controller cuts
// them, and their nodes freeze them meanwhile.
#include <algorithm>
#include <catch2/catch.hpp>
#include <mutex>

#include "controller/group_messages.h"
#include "support/memory_cluster.h"

namespace holdfast::controller {
namespace group_holders_test {

using test::CreateOf;
using test::MemoryNode;
using test::Value;
using Cluster = test::MemoryCluster;
using Texts = std::vector<std::string>;

// Two nodes, each with a volume of its own and one of the pool "shared".
struct Fixture {
  Fixture() {
    for (MemoryNode* const node : {&n1, &n2}) node->Serve("shared");
    Mount(n1, first);
    Mount(n2, second);
    Watch();
  }
  // The volume is a device of the node alone, as the pool's records say.
  void Mount(MemoryNode& node, const std::string& volume, bool can_freeze = true) {
    const std::string device = "device of " + node.name();
    Shared(node).devices[volume] = {.name = device, .can_freeze = can_freeze};
    pool.writers[volume] = {.held = false, .node = node.name(), .device = device};
  }
  static test::MemoryPool& Shared(MemoryNode& node) { return node.Find("shared"); }
  // Notes who does what in which order, first to last.
  void Watch() {
    for (MemoryNode* const node : {&n1, &n2}) {
      node->SetAnswerer([this, node](const link::v1::Command& command) {
        const auto answer = node->Carry(command);
        Note(*node);
        return std::optional(answer);
      });
    }
  }
  void Note(MemoryNode& node) {
    const std::lock_guard lock(mutex);
    for (std::string& step : pool.TakeSteps()) order.push_back("controller " + step);
    for (std::string& step : Shared(node).TakeSteps()) order.push_back(node.name() + " " + step);
    for (std::string& step : node.pool().TakeSteps()) order.push_back(node.name() + " own " + step);
  }
  [[nodiscard]] std::ptrdiff_t First(const std::string& step) const {
    const auto found = std::ranges::find(order, step);
    REQUIRE(found != order.end());
    return found - order.begin();
  }
  absl::StatusOr<csi::v1::VolumeGroupSnapshot> Create(const Texts& volumes) {
    csi::v1::CreateVolumeGroupSnapshotRequest request;
    request.set_name("group");
    for (const std::string& volume : volumes) request.add_source_volume_ids(volume);
    csi::v1::CreateVolumeGroupSnapshotResponse response;
    const grpc::Status status =
        cluster.groups.CreateVolumeGroupSnapshot(nullptr, &request, &response);
    if (status.ok()) return response.group_snapshot();
    return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  std::size_t Snapshots() {
    return Value(pool.ListSnapshots("", 0)).size() + pool.Undecided().size() + n1.CountSnapshots() +
           n2.CountSnapshots();
  }
  // Nothing is frozen, and no lock is held.
  void CheckFree() {
    for (MemoryNode* const node : {&n1, &n2}) {
      CHECK(Shared(*node).frozen == 0);
      for (const std::string& volume : {first, second}) {
        CHECK(node->locks().TryLockInBackground(volume, "the test").has_value());
      }
    }
  }

  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  MemoryNode& n2 = cluster.Add("n2");
  test::MemoryPool& pool = static_cast<test::MemoryPool&>(*Value(cluster.own.pools.Find("shared")));
  const std::string first = cluster.CreateShared("first");
  const std::string second = cluster.CreateShared("second");
  const std::string own = Value(cluster.Create(CreateOf("own", {"n1"}))).volume().volume_id();
  std::mutex mutex;
  Texts order;
};

TEST_CASE_METHOD(Fixture, "all nodes freeze before the first cut, and thaw after the last one") {
  const auto made = Value(Create({first, second, own}));
  CHECK(made.snapshots_size() == 3);
  const auto first_cut = std::min(First("controller cut"), First("n1 own cut"));
  for (const std::string step : {"n1 freeze", "n2 freeze", "n1 own hold"}) {
    CHECK(First(step) < first_cut);
  }
  const auto last_cut =
      order.rend() - std::ranges::find(order.rbegin(), order.rend(), "controller cut") - 1;
  for (const std::string step : {"n1 thaw", "n2 thaw", "n1 own release"}) {
    CHECK(First(step) > std::max(last_cut, First("n1 own cut")));
  }
  CheckFree();
}

TEST_CASE_METHOD(Fixture, "two volumes that one node has mounted are held by it") {
  Mount(n1, second);
  CHECK(Value(Create({first, second})).snapshots_size() == 2);
  CHECK(std::ranges::count(order, "n1 sync") == 2);
  CHECK(std::ranges::count(order, "n1 freeze") == 2);
  CHECK(std::ranges::count(order, "n1 thaw") == 2);
  CHECK(n2.TakeMethods().empty());
  CheckFree();
}

TEST_CASE_METHOD(Fixture, "what a node cannot hold back counts as unheld, and may be one") {
  SECTION("it is not frozen") { Mount(n2, second, /*can_freeze=*/false); }
  SECTION("it has another device") { Shared(n2).devices[second].name = "another"; }
  SECTION("it has none") { Shared(n2).devices.clear(); }
  SECTION("the records do not say who has it") { pool.writers[second] = {.held = false}; }
  CHECK(Value(Create({first, second})).snapshots_size() == 2);
  const std::string third = cluster.CreateShared("third");
  pool.writers[third] = {.held = false};
  REQUIRE_OK(pool.DeleteSnapshot(Value(pool.ListSnapshots("", 0)).front().id));
  REQUIRE_OK(pool.DeleteSnapshot(Value(pool.ListSnapshots("", 0)).front().id));
  CHECK_FAILS(Create({first, second, third}), kFailedPrecondition, "neither can be frozen");
  CHECK(Snapshots() == 0);
  CheckFree();
}

TEST_CASE_METHOD(Fixture, "a node that is not connected may be able to hold, so its error passes") {
  n2.Leave();
  CHECK(Value(Create({first, second})).snapshots_size() == 2);
  for (const Volume& member : Value(pool.ListSnapshots("", 0))) {
    REQUIRE_OK(pool.DeleteSnapshot(member.id));
  }
  const std::string third = cluster.CreateShared("third");
  pool.writers[third] = {.held = false};
  CHECK_FAILS(Create({first, second, third}), kUnavailable, "'n2', which is not connected");
  CHECK(Snapshots() == 0);
  CHECK(Shared(n1).frozen == 0);
}

// As one of before answers: it knows no `held`, neither in the request nor in the response.
link::v1::Result AnswerAsBefore(MemoryNode& node, link::v1::Command command) {
  link::v1::GroupPart part;
  if (!part.ParseFromString(command.request()) || part.held().empty()) return node.Carry(command);
  part.clear_held();
  command.set_request(part.SerializeAsString());
  return node.Carry(command);
}

TEST_CASE_METHOD(Fixture, "a node of an older version holds nothing back") {
  n1.SetAnswerer(
      [this](const auto& command) { return std::optional(AnswerAsBefore(n1, command)); });
  n2.SetAnswerer(
      [this](const auto& command) { return std::optional(AnswerAsBefore(n2, command)); });
  CHECK_FAILS(Create({first, second}), kFailedPrecondition, "neither can be frozen");
  CHECK_FAILS(Create({own, first, second}), kFailedPrecondition, "neither can be frozen");
  CHECK(Snapshots() == 0);
  Watch();
  n2.SetAnswerer(
      [this](const auto& command) { return std::optional(AnswerAsBefore(n2, command)); });
  CHECK(Value(Create({own, first, second})).snapshots_size() == 3);
  CheckFree();
}

TEST_CASE_METHOD(Fixture, "a step that a node which only holds fails undoes the group") {
  for (const char* const method : {kHoldGroup, kCutGroup, kSealGroup}) {
    CAPTURE(method);
    n2.SetAnswerer([&](const link::v1::Command& command) {
      if (command.method() != method) return std::optional(n2.Carry(command));
      link::v1::Result refused;
      refused.set_code(static_cast<int>(absl::StatusCode::kAborted));
      return std::optional(refused);
    });
    CHECK_FAILS(Create({first, second, own}), kAborted, "node 'n2'");
    CHECK(Snapshots() == 0);
    CheckFree();
  }
}

TEST_CASE_METHOD(Fixture, "a freeze that ended early voids the group") {
  Shared(n2).FailAt("thaw");
  CHECK_FAILS(Create({first, second}), kInternal, "'thaw' fails");
  CHECK(Snapshots() == 0);
  Shared(n2).FailAt("");
  REQUIRE_OK(Create({first, second}).status());
}

TEST_CASE_METHOD(Fixture, "a node that dies between the steps undoes the group") {
  for (const char* const method : {kCutGroup, kSealGroup}) {
    CAPTURE(method);
    n2.SetAnswerer([&](const link::v1::Command& command) -> std::optional<link::v1::Result> {
      if (command.method() != method) return n2.Carry(command);
      n2.Die();
      return std::nullopt;
    });
    CHECK_FAILS(Create({first, second, own}), kUnavailable, "n2");
    CHECK(Snapshots() == 0);
    CHECK(Shared(n1).frozen == 0);
    n2.Restart();
    CheckFree();
  }
}

TEST_CASE_METHOD(Fixture, "a volume that another call of its node uses is not cut") {
  const auto lock = Value(n2.locks().TryLock(second, "NodeUnstageVolume"));
  CHECK_FAILS(Create({first, second}), kAborted, "NodeUnstageVolume");
  CHECK(Snapshots() == 0);
  CHECK(Shared(n1).frozen == 0);
}

TEST_CASE_METHOD(Fixture, "a node is believed about what it was asked to hold only") {
  link::v1::Unheld answer;
  SECTION("another volume") { answer.add_held(first); }
  SECTION("one twice") {
    answer.add_held(second);
    answer.add_held(second);
  }
  SECTION("as one of its own") { answer.add_volumes(second); }
  n2.Say(answer);
  CHECK_FAILS(Create({first, second}), kUnavailable, "is refused");
  CHECK(Snapshots() == 0);
}

TEST_CASE_METHOD(Fixture, "a node holds back no volumes of its own for others") {
  link::v1::GroupPart part;
  part.set_group(GroupIdOf(test::kDriverName, "group"));
  part.add_members("s:default:n1:" + RandomUuid());
  part.set_attempt(RandomUuid());
  link::v1::HeldVolume& held = *part.add_held();
  const auto carry = [&] {
    link::v1::Command command;
    command.set_method(kHoldGroup);
    command.set_request(part.SerializeAsString());
    return n1.Carry(command);
  };
  for (const std::string& id : {own, std::string("nonsense"), std::string()}) {
    held.set_volume(id);
    CHECK(carry().code() == grpc::StatusCode::INVALID_ARGUMENT);
  }
  held.set_volume("default::" + VolumeId::Parse(own)->uuid);  // no such id was ever made
  held.set_device("device");
  link::v1::Unheld answer;
  const link::v1::Result nothing = carry();
  CHECK(nothing.code() == grpc::StatusCode::OK);
  REQUIRE(answer.ParseFromString(nothing.response()));
  CHECK(answer.held().empty());
  *part.add_held() = held;  // more than the group has
  CHECK(carry().code() == grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace group_holders_test
}  // namespace holdfast::controller
