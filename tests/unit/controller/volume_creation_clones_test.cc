// SPDX-License-Identifier: Apache-2.0
// Clones of volumes of another node or of the controller's own pools.
#include <catch2/catch.hpp>
#include <list>

#include "controller/volume_creation.h"
#include "support/await.h"
#include "support/csi_requests.h"
#include "support/in_process_server.h"
#include "support/memory_node.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace volume_creation_clones_test {

using std::chrono::milliseconds;
using test::CreateOf;
using test::MemoryNode;
using test::Patience;
using test::Value;
using Methods = std::vector<std::string>;

constexpr char kOwnVolume[] = "ceph::0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0002";
const VolumeId kOwnHeld{"ceph", "", "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0003"};

Content SomeContent() {
  return {.capacity_bytes = 8 * kMiB,
          .data_bytes = kMiB,
          .sector_size = 512,
          .access_type = AccessType::kMount,
          .filesystem = "ext4",
          .inherited_uuids = {},
          .version = "1"};
}

// Two nodes; "pv" is on n1.
struct Fixture {
  Fixture() {
    n1.Make("pv");
    n1.Connect();
  }
  absl::StatusOr<csi::v1::Volume> Create(const csi::v1::CreateVolumeRequest& request) {
    ASSIGN_OR_RETURN(const PlacementRequest wanted, VolumeCreation::ParsePlacementRequest(request));
    csi::v1::CreateVolumeResponse response;
    RETURN_IF_ERROR(creation.Create(request, wanted, Patience(), response));
    return response.volume();
  }
  static csi::v1::CreateVolumeRequest CloneOf(const std::string& volume,
                                              const std::vector<std::string>& places = {"n2"}) {
    csi::v1::CreateVolumeRequest request = CreateOf("copy", places);
    request.mutable_volume_content_source()->mutable_volume()->set_volume_id(volume);
    return request;
  }
  // What n2 answers to a creation; it carries out the rest.
  void AnswerCreation(absl::StatusCode code) {
    n2.SetAnswerer([this, code](const link::v1::Command& command) {
      if (command.method() != "CreateVolume") return n2.Carry(command);
      link::v1::Result result;
      result.set_code(static_cast<int>(code));
      result.set_message("as the test wants it");
      return result;
    });
  }

  test::Belief belief;
  link::Hub hub{
      test::kDriverName, belief, {.reconnect_grace = milliseconds(20), .settle = milliseconds(0)}};
  KeyLock locks;
  std::vector<link::TransferOrder> orders;
  Methods own_calls;
  VolumeCreation creation{
      test::kDriverName,
      hub,
      locks,
      [this](const link::TransferOrder& order) {
        orders.push_back(order);
        return "ticket";
      },
      {.describe = nullptr,
       .hold = [this](const VolumeId& volume,
                      const std::string& name) -> absl::StatusOr<HeldContent> {
         own_calls.push_back("hold " + volume.ToString() + " for " + name);
         return HeldContent{kOwnHeld, SomeContent()};
       },
       .release =
           [this](const VolumeId& volume, const std::string& name) {
             own_calls.push_back("release " + volume.ToString() + " for " + name);
             return absl::OkStatus();
           }}};
  test::InProcessServer server{&hub.service()};
  std::list<MemoryNode> nodes;  // the last: their streams belong to the server
  MemoryNode& n1 = nodes.emplace_back(hub, server, "n1");
  MemoryNode& n2 = nodes.emplace_back(hub, server, "n2");
};

TEST_CASE_METHOD(Fixture, "a clone elsewhere is made of a snapshot that is held, then released") {
  const auto request = CloneOf(n1.IdOf("pv"));
  const csi::v1::Volume made = Value(Create(request));
  CHECK(made.volume_id() == n2.IdOf("copy"));
  CHECK(made.content_source().volume().volume_id() == n1.IdOf("pv"));
  CHECK(n1.TakeMethods() == Methods{"HoldContent", "ReleaseContent"});
  const auto commands = n2.TakeCommands();
  REQUIRE(commands.size() == 1);
  CHECK(commands.front().incoming().ticket() == "ticket");
  REQUIRE(orders.size() == 1);
  CHECK(orders.front().source == "n1");
  CHECK(orders.front().target == "n2");
  CHECK_THAT(orders.front().content, Catch::StartsWith("s:default:n1:"));
  CHECK(n1.CountSnapshots() == 0);

  // The volume is complete, so no other snapshot is made; one may be left of a controller that
  // died.
  CHECK(Value(Create(request)).SerializeAsString() == made.SerializeAsString());
  CHECK(n1.TakeMethods() == Methods{"ReleaseContent"});
  CHECK_FALSE(n2.TakeCommands().front().has_incoming());
}

TEST_CASE_METHOD(Fixture, "the snapshot is held until the clone is complete or refused") {
  const auto request = CloneOf(n1.IdOf("pv"));
  AnswerCreation(absl::StatusCode::kAborted);
  CHECK_FAILS(Create(request), kAborted, "as the test wants it");
  CHECK_FAILS(Create(request), kAborted, "as the test wants it");
  CHECK(n1.CountSnapshots() == 1);
  CHECK(n1.TakeMethods() == Methods{"HoldContent", "HoldContent"});
  CHECK(orders.at(0).content == orders.at(1).content);
  SECTION("a name that is taken is another volume's") {
    AnswerCreation(absl::StatusCode::kAlreadyExists);
    CHECK_FAILS(Create(request), kAlreadyExists, "");
    CHECK(n1.CountSnapshots() == 1);
  }
  SECTION("refused") {
    AnswerCreation(absl::StatusCode::kOutOfRange);
    CHECK_FAILS(Create(request), kOutOfRange, "");
    CHECK(n1.CountSnapshots() == 0);
  }
  SECTION("without its source") {
    n1.Remove("pv");
    n2.AnswerAgain();
    CHECK(Value(Create(request)).volume_id() == n2.IdOf("copy"));
    CHECK(n1.CountSnapshots() == 0);
  }
  SECTION("the source's node is away") {
    n1.Leave();
    CHECK_FAILS(Create(request), kUnavailable, "'n1' is not connected");
    n1.Connect();
    CHECK(hub.snapshot_names().Find("copy").empty());
    n2.AnswerAgain();
    CHECK(Value(Create(request)).volume_id() == n2.IdOf("copy"));
    CHECK(n1.CountSnapshots() == 0);
  }
}

TEST_CASE_METHOD(Fixture, "what cannot be released is left to its owner") {
  n2.SetAnswerer([this](const link::v1::Command& command) {
    n1.Leave();
    return n2.Carry(command);
  });
  CHECK(Value(Create(CloneOf(n1.IdOf("pv")))).volume_id() == n2.IdOf("copy"));
  CHECK(n1.CountSnapshots() == 1);
}

TEST_CASE_METHOD(Fixture, "what is refused before anything is held") {
  SECTION("no such volume") {
    CHECK_FAILS(Create(CloneOf(n1.IdOf("other"))), kNotFound, "there is no volume");
  }
  SECTION("no room anywhere") {
    auto request = CloneOf(n1.IdOf("pv"));
    request.mutable_capacity_range()->set_required_bytes(2 * kTiB);
    CHECK_FAILS(Create(request), kResourceExhausted, "has room");
    CHECK(n1.TakeMethods() == Methods{"ReleaseContent"});
  }
  CHECK(n1.CountSnapshots() == 0);
  CHECK(n2.TakeMethods().empty());
}

TEST_CASE_METHOD(Fixture, "a node holds contents of its own pools only") {
  link::v1::HeldContent held;
  *held.mutable_content() = ToMessage(SomeContent());
  const auto say = [&](const std::string& snapshot) {
    held.set_snapshot(snapshot);
    n1.Say(held);
    return Create(CloneOf(n1.IdOf("pv"))).status();
  };
  const std::string uuid = kOwnHeld.uuid;
  CHECK_FAILS(say("s:default:n2:" + uuid), kUnavailable, "is refused");
  CHECK_FAILS(say("s:other:n1:" + uuid), kUnavailable, "is refused");
  CHECK_FAILS(say("s:ceph::" + uuid), kUnavailable, "is refused");
  CHECK_FAILS(say("default:n1:" + uuid), kUnavailable, "is refused");
  CHECK_FAILS(say(""), kUnavailable, "is refused");
  held.mutable_content()->set_capacity_bytes(-1);
  CHECK_FAILS(say("s:default:n1:" + uuid), kUnavailable, "is refused");
  CHECK(n2.TakeMethods().empty());
  held.mutable_content()->set_capacity_bytes(8 * kMiB);
  REQUIRE_OK(say("s:default:n1:" + uuid));
}

TEST_CASE_METHOD(Fixture, "what was begun on another node goes on there") {
  const auto full = [this](const link::v1::Command& command) {
    if (command.method() != "CreateVolume") return n1.Carry(command);
    link::v1::Result result;
    result.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
    return result;
  };
  n1.SetAnswerer(full);
  AnswerCreation(absl::StatusCode::kAborted);
  csi::v1::CreateVolumeRequest request;
  SECTION("a clone") { request = CloneOf(n1.IdOf("pv"), {"n1", "n2"}); }
  SECTION("a clone that may be anywhere") { request = CloneOf(n1.IdOf("pv"), {}); }
  SECTION("a restored volume") {
    request = CreateOf("copy", {"n1", "n2"});
    request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(
        n1.Snap("pv", "snap"));
  }
  CHECK_FAILS(Create(request), kAborted, "as the test wants it");
  CHECK_FAILS(Create(request), kAborted, "as the test wants it");
  CHECK(n2.TakeMethods() == Methods{"CreateVolume", "CreateVolume"});
  n2.AnswerAgain();
  CHECK(Value(Create(request)).volume_id() == n2.IdOf("copy"));
  CHECK_FALSE(hub.names().FindSuperseded("copy", "n2"));
}

TEST_CASE_METHOD(Fixture, "a volume of the controller's own pools is held by the controller") {
  const auto request = CloneOf(kOwnVolume, {});
  const csi::v1::Volume made = Value(Create(request));
  CHECK(made.content_source().volume().volume_id() == kOwnVolume);
  const std::string of = std::string(kOwnVolume) + " for copy";
  CHECK(own_calls == Methods{"hold " + of, "release " + of});
  MemoryNode& node = made.volume_id() == n1.IdOf("copy") ? n1 : n2;
  const auto commands = node.TakeCommands();
  REQUIRE(commands.size() == 1);
  CHECK(commands.front().incoming().ticket().empty());
  CHECK(commands.front().incoming().snapshot() == ToSnapshotId(kOwnHeld));
  CHECK(made.capacity_bytes() == SomeContent().capacity_bytes);
  CHECK(Value(Create(request)).SerializeAsString() == made.SerializeAsString());
  CHECK(own_calls == Methods{"hold " + of, "release " + of, "release " + of});
}

}  // namespace volume_creation_clones_test
}  // namespace holdfast::controller
