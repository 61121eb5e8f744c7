// SPDX-License-Identifier: Apache-2.0
#include "link/hub.h"

#include <catch2/catch.hpp>
#include <future>
#include <map>

#include "support/await.h"
#include "support/link_peer.h"
#include "support/outcome.h"
#include "support/served_hub.h"

namespace holdfast::link {
namespace hub_test {

using std::chrono::milliseconds;
using test::Await;
using Controller = test::ServedHub;
using test::In;
using test::LinkPeer;
using test::Patience;
using test::RegisterOf;
using test::Saying;
using test::Silent;
using test::VolumesOf;
using Names = std::vector<std::string>;

constexpr milliseconds kNow{0};
constexpr milliseconds kSoon{20};
constexpr std::chrono::hours kNever{1};

TEST_CASE("a node is there when it has proved itself and named all its volumes") {
  Controller controller;
  auto peer = controller.Dial();
  REQUIRE(peer->Register(RegisterOf("n1")));
  const std::string nonce = peer->TakeChallenge();
  CHECK(nonce.size() == 36);
  CHECK(controller.hub.CountNodes() == 0);
  REQUIRE(peer->Prove(nonce));
  REQUIRE(peer->Name(VolumesOf({"pv-1"}), /*last=*/false));
  CHECK_FALSE(controller.hub.WaitFor("n1", In(kSoon)));
  CHECK(controller.hub.names().Find("pv-1").empty());
  REQUIRE(peer->Name(VolumesOf({"pv-2"}), /*last=*/true));
  REQUIRE(controller.hub.WaitFor("n1", Patience()));
  for (const char* const volume : {"pv-1", "pv-2"}) {
    const auto places = controller.hub.names().Find(volume);
    REQUIRE(places.size() == 1);
    CHECK(places.front().node == "n1");
    CHECK(places.front().returned);
  }
  REQUIRE(controller.hub.Nodes().size() == 1);
  CHECK(controller.hub.Nodes().front().pools->pools(0).name() == "default");
  CHECK(controller.hub.Nodes({"n2", "n1"}).size() == 1);
  CHECK(controller.hub.Refusals().empty());
}

TEST_CASE("a registration that cannot be right is refused, and the refusal is counted") {
  Controller controller;
  v1::Register old = RegisterOf("n1");
  old.set_protocol(kProtocol - 1);
  CHECK_FAILS(controller.Refusal(old), kFailedPrecondition, "upgrade the node");
  v1::Register young = RegisterOf("n1");
  young.set_protocol(kProtocol + 1);
  CHECK_FAILS(controller.Refusal(young), kFailedPrecondition, "upgrade the controller");
  v1::Register foreign = RegisterOf("n1");
  foreign.set_driver("other.example.com");
  CHECK_FAILS(controller.Refusal(foreign), kInvalidArgument, "other.example.com");
  CHECK_FAILS(controller.Refusal(RegisterOf("no name")), kInvalidArgument, "no name");
  CHECK_FAILS(controller.Refusal(RegisterOf("n1", "not a UUID")), kInvalidArgument, "pool");
  controller.belief.objects = true;
  CHECK_FAILS(controller.Refusal(RegisterOf("n1")), kPermissionDenied, "another node");
  CHECK(controller.Connected().empty());
  CHECK(controller.hub.Missing().empty());
  const std::map<absl::StatusCode, std::uint64_t> refusals = {
      {absl::StatusCode::kFailedPrecondition, 2},
      {absl::StatusCode::kInvalidArgument, 3},
      {absl::StatusCode::kPermissionDenied, 1}};
  // A peer may see its end before it is counted.
  Await([&] { return controller.hub.Refusals() == refusals; });
}

TEST_CASE("a peer that does not keep to the order, or to what it registered, is cut off") {
  Controller controller;
  auto peer = controller.Dial();
  SECTION("another proof than the challenge") {
    REQUIRE(peer->Register(RegisterOf("n1")));
    REQUIRE_FALSE(peer->TakeChallenge().empty());
    REQUIRE(peer->Prove("guessed"));
    CHECK_FAILS(peer->AwaitEnd(), kUnauthenticated, "challenge");
  }
  SECTION("volumes before the proof") {
    REQUIRE(peer->Register(RegisterOf("n1")));
    REQUIRE(peer->Name({}, /*last=*/true));
    CHECK_FAILS(peer->AwaitEnd(), kInvalidArgument, "order");
  }
  SECTION("an answer before anything else") {
    REQUIRE(peer->Answer(1));
    CHECK_FAILS(peer->AwaitEnd(), kInvalidArgument, "order");
  }
  SECTION("a second registration") {
    REQUIRE(peer->Join(RegisterOf("n1")));
    REQUIRE(peer->Register(RegisterOf("n2")));
    CHECK_FAILS(peer->AwaitEnd(), kInvalidArgument, "order");
  }
  SECTION("volumes of a pool that it has not") {
    REQUIRE(peer->Register(RegisterOf("n1")));
    REQUIRE(peer->Prove(peer->TakeChallenge()));
    v1::Volumes part = VolumesOf({"pv"});
    part.mutable_volumes(0)->set_pool("other");
    REQUIRE(peer->Name(part, /*last=*/true));
    CHECK_FAILS(peer->AwaitEnd(), kInvalidArgument, "not registered");
  }
  SECTION("other pools later") {
    REQUIRE(peer->Join(RegisterOf("n1")));
    REQUIRE(controller.hub.WaitFor("n1", Patience()));
    REQUIRE(peer->Describe(RegisterOf("n1", RandomUuid()).pools()));
    CHECK_FAILS(peer->AwaitEnd(), kFailedPrecondition, "pools");
  }
  Await([&] { return controller.hub.CountNodes() == 0; });
}

TEST_CASE("what a node says of its pools later replaces what it registered") {
  Controller controller;
  const auto peer = controller.Connect("n1");
  v1::Register now = RegisterOf("n1");
  now.mutable_pools()->mutable_pools(0)->set_problem("its disk is not mounted");
  REQUIRE(peer->Describe(now.pools()));
  Await([&] { return !controller.hub.Nodes().front().pools->pools(0).problem().empty(); });
}

TEST_CASE("a node that connects again takes the place of its older stream") {
  Controller controller;
  const auto older = controller.Connect(RegisterOf("n1"), {"pv-1"}, Silent());
  auto lost = controller.StartCall("n1");
  (void)older->AwaitCommands(1);
  const auto newer = controller.Connect(RegisterOf("n1"), {"pv-2"}, Saying("newer"));
  CHECK_FAILS(older->AwaitEnd(), kAborted, "has connected again");
  CHECK_FAILS(lost.get(), kUnavailable, "broke; try again");
  CHECK(test::Value(controller.Call("n1")) == "newer");
  CHECK(controller.Connected() == Names{"n1"});
  CHECK(controller.hub.Missing().empty());
  CHECK(controller.hub.names().Find("pv-1").empty());
  CHECK(controller.hub.names().Find("pv-2").size() == 1);
}

TEST_CASE("a stream that is renewed ends when its commands are answered") {
  Controller controller;
  const auto older = controller.Connect(RegisterOf("n1"), {}, Silent());
  auto slow = controller.StartCall("n1");
  const std::uint64_t id = older->AwaitCommands(1).front().id();
  v1::Register renewal = RegisterOf("n1");
  renewal.set_renews(true);
  const auto newer = controller.Connect(renewal, {"pv"}, Saying("newer"));
  Await([&] { return !controller.hub.names().Find("pv").empty(); });
  CHECK(test::Value(controller.Call("n1")) == "newer");
  v1::Result result;
  result.set_message("older");
  REQUIRE(older->Answer(id, result));
  CHECK(test::Value(slow.get()) == "older");
  CHECK_FAILS(older->AwaitEnd(), kAborted, "has renewed");
  CHECK(controller.Connected() == Names{"n1"});
  CHECK(controller.hub.Missing().empty());
}

TEST_CASE("of two peers that say they are one node, the first has to prove it again") {
  Controller controller;
  auto first = controller.Dial();
  REQUIRE(first->Register(RegisterOf("n1")));
  REQUIRE_FALSE(first->TakeChallenge().empty());
  const auto second = controller.Connect("n1");
  CHECK_FAILS(first->AwaitEnd(), kAborted, "registers again");
  CHECK(controller.Connected() == Names{"n1"});
}

TEST_CASE("a peer that has proved nothing does not replace the node") {
  Controller controller;
  const auto peer = controller.Connect("n1");
  auto stranger = controller.Dial();
  REQUIRE(stranger->Register(RegisterOf("n1")));
  REQUIRE_FALSE(stranger->TakeChallenge().empty());
  REQUIRE(stranger->Prove("guessed"));
  CHECK_FAILS(stranger->AwaitEnd(), kUnauthenticated, "");
  CHECK(test::Value(controller.Call("n1")) == "fine");
}

TEST_CASE("a node of the same name with another disk is refused, also when the first is away") {
  Controller controller;
  auto peer = controller.Connect("n1");
  CHECK_FAILS(controller.Refusal(RegisterOf("n1", RandomUuid())), kFailedPrecondition,
              "two nodes of one name");
  peer.reset();
  Await([&] { return controller.hub.CountNodes() == 0; });
  CHECK_FAILS(controller.Refusal(RegisterOf("n1", RandomUuid())), kFailedPrecondition,
              "two nodes of one name");
  // If its disk is missing, a node reports no id for the pool, and the disk that returns is the old
  // one.
  v1::Register without_disk = RegisterOf("n1", "");
  without_disk.mutable_pools()->mutable_pools(0)->set_problem("its disk is not mounted");
  peer = controller.Connect(without_disk);
  CHECK_FAILS(controller.Refusal(RegisterOf("n1", RandomUuid())), kFailedPrecondition,
              "two nodes of one name");
  const auto back = controller.Connect("n1");
  CHECK_FAILS(peer->AwaitEnd(), kAborted, "has connected again");
}

TEST_CASE("another disk may take the place of one that is declared lost, and of no other") {
  Controller controller({.settle = kNow}, {{"n1", "default", test::kPoolUuid}});
  v1::Register broken = RegisterOf("n1");
  broken.mutable_pools()->mutable_pools(0)->set_problem("input/output error");
  auto peer = controller.Connect(broken);
  peer.reset();
  Await([&] { return controller.hub.CountNodes() == 0; });
  peer = controller.Connect(RegisterOf("n1", RandomUuid()));
  CHECK_FAILS(controller.Refusal(RegisterOf("n1", RandomUuid())), kFailedPrecondition,
              "two nodes of one name");
}

TEST_CASE("a node that went away is missing, and then forgotten with its volumes") {
  Controller controller({.settle = kNow, .lost_node_retention = kNever});
  Controller forgetful({.settle = kNow, .lost_node_retention = kNow});
  for (Controller* const one : {&controller, &forgetful}) {
    auto peer = one->Connect(RegisterOf("n1"), {"pv"});
    peer.reset();
    Await([&] { return one->hub.CountNodes() == 0; });
    one->hub.EndOverdue();
  }
  CHECK(controller.hub.Missing() == Names{"n1"});
  CHECK(controller.hub.names().Find("pv").size() == 1);
  CHECK(forgetful.hub.Missing().empty());
  CHECK(forgetful.hub.names().Find("pv").empty());
  const auto back = controller.Connect("n1");
  CHECK(controller.hub.Missing().empty());
}

TEST_CASE("a call reaches its node with what is left of the caller's time") {
  Controller controller;
  const auto n1 = controller.Connect(RegisterOf("n1"), {}, Saying("one"));
  const auto n2 = controller.Connect(RegisterOf("n2"), {}, Saying("two"));
  CHECK(test::Value(controller.Call("n2", "bytes", In(std::chrono::minutes(1)))) == "two");
  const v1::Command command = n2->AwaitCommands(1).front();
  CHECK(command.method() == "Any");
  CHECK(command.request() == "bytes");
  CHECK(command.timeout_ms() > 0);
  CHECK(command.timeout_ms() <= 60'000);
  CHECK(test::Value(controller.Call("n1")) == "one");
  CHECK(n2->AwaitCommands(1).size() == 1);
}

TEST_CASE("answers find their calls in whatever order they come") {
  Controller controller;
  const auto peer = controller.Connect(RegisterOf("n1"), {}, Silent());
  auto first = controller.StartCall("n1", "first");
  auto second = controller.StartCall("n1", "second");
  std::vector<v1::Command> commands = peer->AwaitCommands(2);
  REQUIRE(peer->Answer(commands[0].id() + commands[1].id() + 1));  // to no command
  for (const v1::Command& command : {commands[1], commands[0]}) {
    v1::Result result;
    result.set_message("answer to " + command.request());
    REQUIRE(peer->Answer(command.id(), result));
  }
  CHECK(test::Value(first.get()) == "answer to first");
  CHECK(test::Value(second.get()) == "answer to second");
}

TEST_CASE("a node that does not answer in time is not waited for, and its late answer is dropped") {
  Controller controller;
  const auto peer = controller.Connect(RegisterOf("n1"), {}, Silent());
  CHECK_FAILS(controller.Call("n1", "", In(kSoon)), kDeadlineExceeded, "has not answered yet");
  v1::Result late;
  late.set_message("late");
  REQUIRE(peer->Answer(peer->AwaitCommands(1)[0].id(), late));
  auto next = controller.StartCall("n1");
  v1::Result prompt;
  prompt.set_message("prompt");
  REQUIRE(peer->Answer(peer->AwaitCommands(2)[1].id(), prompt));
  CHECK(test::Value(next.get()) == "prompt");
}

TEST_CASE("a node that dies under calls leaves none of them waiting") {
  Controller controller({.reconnect_grace = kSoon, .settle = kNow});
  const auto peer = controller.Connect(RegisterOf("n1"), {}, Silent());
  auto first = controller.StartCall("n1");
  auto second = controller.StartCall("n1");
  (void)peer->AwaitCommands(2);
  peer->Cut();
  CHECK_FAILS(first.get(), kUnavailable, "the link to node 'n1' broke; try again");
  CHECK_FAILS(second.get(), kUnavailable, "the link to node 'n1' broke; try again");
  CHECK_FAILS(controller.Call("n1"), kUnavailable, "is not connected");
  CHECK(controller.hub.Missing() == Names{"n1"});
}

TEST_CASE("a call waits for a node that is on its way back, but not for long") {
  Controller patient({.reconnect_grace = kNever, .settle = kNow});
  auto waiting = patient.StartCall("n1");
  CHECK(waiting.wait_for(kSoon) == std::future_status::timeout);
  const auto peer = patient.Connect("n1");
  CHECK(test::Value(waiting.get()) == "fine");
  CHECK_FAILS(patient.Call("n2", "", In(kSoon)), kUnavailable, "'n2' is not connected");
  Controller hasty({.reconnect_grace = kSoon, .settle = kNow});
  CHECK_FAILS(hasty.Call("n1"), kUnavailable, "'n1' is not connected");
}

TEST_CASE("a stream that does not become a node's ends") {
  Controller controller({.introduction = kNow, .settle = kNow});
  const auto node = controller.Connect("n1");
  auto peer = controller.Dial();
  REQUIRE(peer->Register(RegisterOf("n2")));
  REQUIRE_FALSE(peer->TakeChallenge().empty());
  controller.hub.EndOverdue();
  CHECK_FAILS(peer->AwaitEnd(), kDeadlineExceeded, "has not said its name");
  CHECK(test::Value(controller.Call("n1")) == "fine");
}

TEST_CASE("a hub that stops ends all streams, keeps no call and takes no more") {
  Controller controller({.reconnect_grace = kNever, .settle = kNever, .longest_settle = kNever});
  const auto peer = controller.Connect(RegisterOf("n1"), {}, Silent());
  auto sent = controller.StartCall("n1");
  auto waits = controller.StartCall("n2");
  (void)peer->AwaitCommands(1);
  controller.hub.Stop();
  CHECK_FAILS(peer->AwaitEnd(), kUnavailable, "is stopping");
  CHECK_FAILS(sent.get(), kUnavailable, "");
  CHECK_FAILS(waits.get(), kUnavailable, "");
  CHECK_FALSE(controller.hub.WaitUntilSettled(Patience()));
  CHECK_FAILS(controller.Dial()->AwaitEnd(), kUnavailable, "is stopping");
}

// Counts streams, and refuses those beyond the first.
class OneStream final : public PeerWatch {
 public:
  bool StreamStarts(const std::string&) override { return ++started == 1; }
  void StreamIsOver(const std::string&) override { ++over; }
  void MessageCame(const std::string&) override { ++messages; }
  void Proved(const std::string&) override { ++proved; }
  std::atomic<int> started = 0;
  std::atomic<int> over = 0;
  std::atomic<int> messages = 0;
  std::atomic<int> proved = 0;
};

TEST_CASE("who bounds the connections hears of each stream, and can refuse it") {
  OneStream watch;
  Controller controller;
  controller.hub.SetPeerWatch(watch);
  auto peer = controller.Connect("n1");
  Await([&] { return watch.proved == 1; });
  CHECK(watch.messages >= 3);
  CHECK_FAILS(controller.Dial()->AwaitEnd(), kResourceExhausted, "too many streams");
  CHECK(watch.over == 1);
  peer.reset();
  Await([&] { return watch.over == 2; });
}

}  // namespace hub_test
}  // namespace holdfast::link
