// SPDX-License-Identifier: Apache-2.0
#include "link/hub.h"

#include <catch2/catch.hpp>
#include <future>

#include "support/memory_node.h"

namespace holdfast::link {
namespace {

using std::chrono::milliseconds;
using test::InOneMinute;
using test::MemoryHub;
using test::MemoryNode;

constexpr char kPoolA[] = "aaaaaaaa-0000-4000-8000-000000000001";
constexpr char kPoolB[] = "bbbbbbbb-0000-4000-8000-000000000002";
constexpr Hub::Times kSettled{.settle = milliseconds(0), .reconnect_grace = milliseconds(0)};

v1::Command GetCommand() {
  v1::Command command;
  command.set_method("ControllerGetVolume");
  command.set_timeout_ms(60'000);
  return command;
}

absl::StatusCode CodeOf(const v1::Result& result) {
  return static_cast<absl::StatusCode>(result.code());
}

TEST_CASE("a node that has proved itself is connected, with its pools and volumes") {
  MemoryHub memory(kSettled);
  MemoryNode node(memory, "n1", kPoolA);
  VolumeSpec spec;
  spec.name = "pv";
  const Volume volume = test::Value(node.pool().Create(spec));
  CHECK(memory.hub().CountNodes() == 0);
  REQUIRE_OK(node.Connect());
  const std::vector<NodeView> nodes = memory.hub().Nodes();
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].name == "n1");
  REQUIRE(nodes[0].pools->pools_size() == 1);
  CHECK(nodes[0].pools->pools(0).id() == kPoolA);
  const auto places = memory.hub().names().Find("pv");
  REQUIRE(places.size() == 1);
  CHECK(places[0].node == "n1");
  CHECK(memory.hub().Nodes({"n2", "n1"}).size() == 1);
  CHECK(memory.hub().Missing().empty());
}

TEST_CASE("a peer that says anything wrong is refused, counted, and never connected") {
  MemoryHub memory(kSettled);
  MemoryNode node(memory, "n1", kPoolA);
  v1::Register description = controller::DescribeNode(test::kDriver, "n1", pool::Pools());
  *description.mutable_pools() = node.pools();
  SECTION("another protocol") {
    description.set_protocol(kProtocol - 1);
    CHECK_FAILS(node.Connect(description), kFailedPrecondition, "upgrade the node");
  }
  SECTION("another driver") {
    description.set_driver("csi.example.org");
    CHECK_FAILS(node.Connect(description), kInvalidArgument, "not of 'csi.example.org'");
  }
  SECTION("a name that is not a node's") {
    description.set_node("a b");
    CHECK_FAILS(node.Connect(description), kInvalidArgument, "a b");
  }
  SECTION("another node than its certificate or token names") {
    memory.Refuse(MakeStatus(absl::StatusCode::kPermissionDenied, "you are n2"));
    CHECK_FAILS(node.Connect(description), kPermissionDenied, "you are n2");
  }
  CHECK(memory.hub().CountNodes() == 0);
  std::uint64_t refused = 0;
  for (const auto& [code, count] : memory.hub().Refusals()) refused += count;
  CHECK(refused == 1);
}

TEST_CASE("a node of a connected one's name with another disk is refused") {
  MemoryHub memory(kSettled);
  MemoryNode first(memory, "n1", kPoolA);
  REQUIRE_OK(first.Connect());
  MemoryNode second(memory, "n1", kPoolB);
  CHECK_FAILS(second.Connect(controller::DescribeNode(test::kDriver, "n1", pool::Pools())), kOk,
              "");  // without pools it contradicts nothing
  v1::Register description = controller::DescribeNode(test::kDriver, "n1", pool::Pools());
  *description.mutable_pools() = second.pools();
  CHECK_FAILS(second.Connect(description), kFailedPrecondition, "two nodes of one name");
}

TEST_CASE("a command goes to its node, whose own status is in the result") {
  MemoryHub memory(kSettled);
  MemoryNode one(memory, "n1", kPoolA);
  MemoryNode two(memory, "n2", kPoolB);
  REQUIRE_OK(one.Connect());
  REQUIRE_OK(two.Connect());
  two.SetAnswer([](const v1::Command&) {
    return test::RefusedWith(absl::StatusCode::kNotFound, "there is none");
  });
  const v1::Result result = test::Value(memory.hub().Call("n2", GetCommand(), InOneMinute()));
  CHECK(CodeOf(result) == absl::StatusCode::kNotFound);
  CHECK(result.message() == "there is none");
  CHECK(one.commands().empty());
  REQUIRE(two.commands().size() == 1);
  CHECK(two.commands()[0].method() == "ControllerGetVolume");
}

TEST_CASE("a node that is not connected, or dies with a command, is UNAVAILABLE") {
  MemoryHub memory(kSettled);
  CHECK_FAILS(memory.hub().Call("n1", GetCommand(), InOneMinute()), kUnavailable,
              "node 'n1' is not connected");
  MemoryNode node(memory, "n1", kPoolA);
  REQUIRE_OK(node.Connect());
  std::promise<void> received;
  node.SetAnswer([&](const v1::Command&) {
    received.set_value();
    return std::nullopt;
  });
  auto call = std::async(std::launch::async,
                         [&] { return memory.hub().Call("n1", GetCommand(), InOneMinute()); });
  received.get_future().wait();
  node.HangUp();
  CHECK(test::CodeOf(call.get()) == absl::StatusCode::kUnavailable);
  CHECK(memory.hub().CountNodes() == 0);
  CHECK(memory.hub().Missing() == std::vector<std::string>{"n1"});
}

TEST_CASE("a node that does not answer costs its caller no more than the deadline") {
  MemoryHub memory(kSettled);
  MemoryNode node(memory, "n1", kPoolA);
  REQUIRE_OK(node.Connect());
  node.SetAnswer([](const v1::Command&) { return std::nullopt; });
  CHECK(test::CodeOf(
            memory.hub().Call("n1", GetCommand(), Deadline::clock::now() + milliseconds(20))) ==
        absl::StatusCode::kDeadlineExceeded);
  CHECK(memory.hub().CountNodes() == 1);
}

TEST_CASE("a call waits for a node that is on its way back") {
  MemoryHub memory({.settle = milliseconds(0), .reconnect_grace = std::chrono::minutes(1)});
  MemoryNode node(memory, "n1", kPoolA);
  node.SetAnswer([](const v1::Command&) { return v1::Result(); });
  auto call = std::async(std::launch::async,
                         [&] { return memory.hub().Call("n1", GetCommand(), InOneMinute()); });
  REQUIRE_OK(node.Connect());
  CHECK(CodeOf(test::Value(call.get())) == absl::StatusCode::kOk);
}

TEST_CASE("a newer stream of a node replaces the older one") {
  MemoryHub memory(kSettled);
  MemoryNode older(memory, "n1", kPoolA);
  MemoryNode newer(memory, "n1", kPoolA);
  REQUIRE_OK(older.Connect());
  REQUIRE_OK(newer.Connect());
  CHECK_FAILS(older.AwaitEnd(), kAborted, "has connected again");
  newer.SetAnswer([](const v1::Command&) { return v1::Result(); });
  REQUIRE_OK(memory.hub().Call("n1", GetCommand(), InOneMinute()));
  CHECK(newer.commands().size() == 1);
  CHECK(memory.hub().CountNodes() == 1);
  CHECK(memory.hub().Missing().empty());
}

TEST_CASE("a node's reports of its pools are taken, but not of other pools") {
  MemoryHub memory(kSettled);
  MemoryNode node(memory, "n1", kPoolA);
  REQUIRE_OK(node.Connect());
  v1::Pools pools = node.pools();
  pools.mutable_pools(0)->set_problem("its disk is gone");
  node.ReportPools(pools);
  node.SetAnswer([](const v1::Command&) { return v1::Result(); });
  REQUIRE_OK(memory.hub().Call("n1", GetCommand(), InOneMinute()));  // follows the report
  CHECK(memory.hub().Nodes()[0].pools->pools(0).problem() == "its disk is gone");
  pools.mutable_pools(0)->set_id(kPoolB);
  node.ReportPools(pools);
  CHECK_FAILS(node.AwaitEnd(), kFailedPrecondition, "others than those that were registered");
}

TEST_CASE("nodes have time to come back after a start") {
  MemoryHub memory({.settle = std::chrono::hours(1)});
  CHECK_FALSE(memory.hub().IsSettled());
  CHECK_FALSE(memory.hub().WaitUntilSettled(Deadline::clock::now()));
  MemoryNode node(memory, "n1", kPoolA);
  auto more = std::async(std::launch::async,
                         [&] { return memory.hub().WaitForMoreThan(0, InOneMinute()); });
  REQUIRE_OK(node.Connect());
  CHECK(more.get());
  MemoryHub settled(kSettled);
  CHECK(settled.hub().IsSettled());
  CHECK(settled.hub().WaitUntilSettled(InOneMinute()));
}

TEST_CASE("a hub that stops ends its streams and takes no more") {
  MemoryHub memory(kSettled);
  MemoryNode node(memory, "n1", kPoolA);
  REQUIRE_OK(node.Connect());
  memory.hub().Stop();
  CHECK_FAILS(node.AwaitEnd(), kUnavailable, "the controller is stopping");
  MemoryNode late(memory, "n2", kPoolB);
  CHECK_FAILS(late.Connect(), kUnavailable, "the controller is stopping");
}

}  // namespace
}  // namespace holdfast::link
