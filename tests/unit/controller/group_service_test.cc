// SPDX-License-Identifier: Apache-2.0
// Group snapshots of the volumes of one process: the order of the steps, and the answers.
#include "controller/group_service.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "support/csi_requests.h"
#include "support/memory_node.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace group_service_test {

using test::Value;
using Steps = std::vector<std::string>;

absl::Status StatusOf(const grpc::Status& status) {
  return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

struct Fixture {
  std::string CreateVolume(const std::string& name, bool block = false) {
    csi::v1::CreateVolumeRequest request = test::CreateOf(name);
    if (block) request.mutable_volume_capabilities(0)->mutable_block();
    csi::v1::CreateVolumeResponse response;
    REQUIRE_OK(StatusOf(memory.service->CreateVolume(nullptr, &request, &response)));
    return response.volume().volume_id();
  }
  absl::StatusOr<csi::v1::VolumeGroupSnapshot> Create(const std::vector<std::string>& volumes,
                                                      const std::string& max_freeze = "",
                                                      const std::string& name = "group") {
    csi::v1::CreateVolumeGroupSnapshotRequest request;
    request.set_name(name);
    for (const std::string& volume : volumes) request.add_source_volume_ids(volume);
    if (!max_freeze.empty()) (*request.mutable_parameters())["maxFreeze"] = max_freeze;
    csi::v1::CreateVolumeGroupSnapshotResponse response;
    RETURN_IF_ERROR(StatusOf(groups.CreateVolumeGroupSnapshot(nullptr, &request, &response)));
    return response.group_snapshot();
  }
  absl::StatusOr<csi::v1::VolumeGroupSnapshot> Get(const std::string& id,
                                                   const std::vector<std::string>& members) {
    csi::v1::GetVolumeGroupSnapshotRequest request;
    request.set_group_snapshot_id(id);
    for (const std::string& member : members) request.add_snapshot_ids(member);
    csi::v1::GetVolumeGroupSnapshotResponse response;
    RETURN_IF_ERROR(StatusOf(groups.GetVolumeGroupSnapshot(nullptr, &request, &response)));
    return response.group_snapshot();
  }
  absl::Status Delete(const std::string& id, const std::vector<std::string>& members) {
    csi::v1::DeleteVolumeGroupSnapshotRequest request;
    request.set_group_snapshot_id(id);
    for (const std::string& member : members) request.add_snapshot_ids(member);
    csi::v1::DeleteVolumeGroupSnapshotResponse response;
    return StatusOf(groups.DeleteVolumeGroupSnapshot(nullptr, &request, &response));
  }
  static std::vector<std::string> IdsOf(const csi::v1::VolumeGroupSnapshot& group) {
    std::vector<std::string> ids;
    for (const auto& snapshot : group.snapshots()) ids.push_back(snapshot.snapshot_id());
    return ids;
  }
  std::size_t CountSnapshots() { return Value(memory.pools.ListSnapshots("", 0)).size(); }

  test::MemoryService memory{"n1", {"default"}, /*attach=*/false};
  test::MemoryPool& pool = static_cast<test::MemoryPool&>(*Value(memory.pools.Find("default")));
  GroupService groups{{test::kDriverName, memory.service->groups(), memory.locks, memory.calls}};
  const std::string one = CreateVolume("one");
  const std::string two = CreateVolume("two");
};

TEST_CASE_METHOD(Fixture, "all are held before the first is cut, and released after the last") {
  const auto group = Value(Create({two, one}));
  CHECK(pool.TakeSteps() == Steps{"remove", "remove", "remove", "begin", "begin", "prepare",
                                  "prepare", "hold", "hold", "cut", "cut", "release", "release",
                                  "seal", "seal", "keep", "keep", "keep"});
  CHECK(group.group_snapshot_id() == GroupIdOf(test::kDriverName, "group"));
  CHECK(group.ready_to_use());
  REQUIRE(group.snapshots_size() == 2);
  std::set<std::string> sources;
  for (const auto& snapshot : group.snapshots()) {
    CHECK(snapshot.group_snapshot_id() == group.group_snapshot_id());
    sources.insert(snapshot.source_volume_id());
  }
  CHECK(sources == std::set<std::string>{one, two});
  CHECK(group.creation_time().seconds() == group.snapshots(0).creation_time().seconds());
  CHECK(Value(Create({one, two})).SerializeAsString() == group.SerializeAsString());
  CHECK(Value(Get(group.group_snapshot_id(), IdsOf(group))).SerializeAsString() ==
        group.SerializeAsString());
  CHECK(pool.Undecided().empty());
}

TEST_CASE_METHOD(Fixture, "a step that fails leaves nothing") {
  for (const std::string step : {"begin", "prepare", "hold", "cut", "release", "seal"}) {
    CAPTURE(step);
    pool.FailAt(step);
    CHECK_FAILS(Create({one, two}), kInternal, "'" + step + "' fails");
    CHECK(CountSnapshots() == 0);
    CHECK(pool.Undecided().empty());
    pool.FailAt("");
    const auto group = Value(Create({one, two}));  // nothing holds the volumes any more
    REQUIRE_OK(Delete(group.group_snapshot_id(), IdsOf(group)));
  }
}

TEST_CASE_METHOD(Fixture, "what could not be kept is removed, and the error says why") {
  pool.FailAt("keep");
  CHECK_FAILS(Create({one, two}), kInternal, "'keep' fails");
  CHECK(CountSnapshots() == 0);
  CHECK(pool.Undecided().empty());
}

TEST_CASE_METHOD(Fixture, "one volume whose writers cannot be held is fine, two are not") {
  const std::string raw = CreateVolume("raw", /*block=*/true);
  const std::string raw_too = CreateVolume("raw too", /*block=*/true);
  CHECK_FAILS(Create({one, raw, raw_too}), kFailedPrecondition, "neither can be frozen");
  CHECK(CountSnapshots() == 0);
  CHECK(Value(Create({one, two, raw})).snapshots_size() == 3);
}

TEST_CASE_METHOD(Fixture, "what is no group, and what is another one") {
  CHECK_FAILS(Create({}), kInvalidArgument, "source_volume_ids");
  CHECK_FAILS(Create({one, one}), kInvalidArgument, "twice");
  CHECK_FAILS(Create({one}, "", ""), kInvalidArgument, "name");
  CHECK_FAILS(Create({one, "nonsense"}), kNotFound, "no volume");
  CHECK_FAILS(Create({one, "default:n1:" + RandomUuid()}), kNotFound, "no volume");
  CHECK_FAILS(Create({one}, "1 fortnight"), kInvalidArgument, "maxFreeze");
  const auto group = Value(Create({one, two}, "1s"));
  CHECK_FAILS(Create({one}, "1s"), kAlreadyExists, "other volumes");
  CHECK_FAILS(Create({one, two}, "2s"), kAlreadyExists, "other parameters");
  const std::string id = group.group_snapshot_id();
  const std::vector<std::string> members = IdsOf(group);
  CHECK_FAILS(Get("", {}), kInvalidArgument, "group_snapshot_id");
  CHECK_FAILS(Delete("", {}), kInvalidArgument, "group_snapshot_id");
  for (const auto& wrong : {std::vector<std::string>{}, {members[0]}, {members[0], "nonsense"}}) {
    CHECK_FAILS(Get(id, wrong), kInvalidArgument, "snapshot_ids");
    CHECK_FAILS(Delete(id, wrong), kInvalidArgument, "snapshot_ids");
  }
  REQUIRE_OK(Delete(id, {members[1], members[0], members[1]}));  // as sets
  for (const std::string& gone : {id, std::string("nonsense")}) {
    CHECK_FAILS(Get(gone, {}), kNotFound, "no group snapshot");
    CHECK_FAILS(Get(gone, members), kNotFound, "no group snapshot");
    REQUIRE_OK(Delete(gone, members));
  }
}

TEST_CASE_METHOD(Fixture, "the CO's own parameters are not those of the group") {
  csi::v1::CreateVolumeGroupSnapshotRequest request;
  request.set_name("group");
  request.add_source_volume_ids(CreateVolume("one"));
  (*request.mutable_parameters())["deletionPolicy"] = "Delete";
  (*request.mutable_parameters())["csi.storage.k8s.io/volumegroupsnapshot/name"] = "mine";
  csi::v1::CreateVolumeGroupSnapshotResponse response;
  REQUIRE_OK(StatusOf(groups.CreateVolumeGroupSnapshot(nullptr, &request, &response)));
  request.mutable_parameters()->clear();
  REQUIRE_OK(StatusOf(groups.CreateVolumeGroupSnapshot(nullptr, &request, &response)));
}

TEST_CASE_METHOD(Fixture, "a group is still deleted when one of its snapshots was") {
  const auto group = Value(Create({one, two}));
  const std::vector<std::string> members = IdsOf(group);
  REQUIRE_OK(pool.DeleteSnapshot(*ParseSnapshotId(members[0])));
  CHECK_FAILS(Get(group.group_snapshot_id(), members), kNotFound, "not whole");
  SECTION("by all that it had") { REQUIRE_OK(Delete(group.group_snapshot_id(), members)); }
  SECTION("by what is left") { REQUIRE_OK(Delete(group.group_snapshot_id(), {members[1]})); }
  CHECK(CountSnapshots() == 0);
}

TEST_CASE_METHOD(Fixture, "a volume that another call uses is not cut") {
  const auto lock = Value(memory.locks.TryLock(two, "NodeStageVolume"));
  CHECK_FAILS(Create({one, two}), kAborted, "NodeStageVolume");
  CHECK(CountSnapshots() == 0);
  REQUIRE_OK(Create({one}).status());
}

TEST_CASE_METHOD(Fixture, "a pool that does not answer matters to groups that may be in it only") {
  REQUIRE_OK(memory.pools.Add(std::make_unique<test::MemoryPool>("far", "")));
  auto& far = static_cast<test::MemoryPool&>(*Value(memory.pools.Find("far")));
  VolumeSpec spec;
  spec.name = "there";
  const std::string there = Value(far.Create(spec)).id.ToString();
  const auto mixed = Value(Create({one, there}, "", "mixed"));
  far.answers = Unavailable("no answer");
  const auto group = Value(Create({one, two}));
  const std::string& id = group.group_snapshot_id();
  CHECK(Value(Get(id, IdsOf(group))).snapshots_size() == 2);
  CHECK_FAILS(Get(GroupIdOf(test::kDriverName, "unknown"), {}), kUnavailable, "no answer");
  CHECK_FAILS(Delete(GroupIdOf(test::kDriverName, "unknown"), {}), kUnavailable, "no answer");
  CHECK_FAILS(Create({two, there}, "", "other"), kUnavailable, "no answer");
  CHECK_FAILS(Create({one, two}, "", "mixed"), kUnavailable, "no answer");  // it has a member there
  CHECK_FAILS(Delete(mixed.group_snapshot_id(), IdsOf(mixed)), kUnavailable, "no answer");
  REQUIRE_OK(Delete(id, IdsOf(group)));
  far.answers = absl::OkStatus();
  REQUIRE_OK(Delete(mixed.group_snapshot_id(), IdsOf(mixed)));
  CHECK(CountSnapshots() == 0);
}

TEST_CASE("an attempt whose coordinator is gone ends by itself") {
  test::MemoryService memory("n1", {"default"}, /*attach=*/false);
  auto& pool = static_cast<test::MemoryPool&>(*Value(memory.pools.Find("default")));
  csi::v1::CreateVolumeRequest request = test::CreateOf("pv");
  csi::v1::CreateVolumeResponse made;
  REQUIRE_OK(StatusOf(memory.service->CreateVolume(nullptr, &request, &made)));
  constexpr std::chrono::milliseconds kSoon{30};
  LocalGroups groups(memory.pools, memory.locks, {.cutting = kSoon, .undecided = kSoon});
  GroupPart part;
  part.sources = {*VolumeId::Parse(made.volume().volume_id())};
  part.group.id = GroupIdOf(test::kDriverName, "group");
  const VolumeId member = Value(groups.MemberOf(part.group.id, part.sources[0], {}));
  part.group.members = {ToSnapshotId(member)};
  part.attempt = RandomUuid();
  const auto is_free = [&](const VolumeId& id) {
    return memory.locks.TryLockInBackground(id.ToString(), "the test").has_value();
  };
  REQUIRE_OK(groups.Hold(part).status());
  SECTION("after it was held") {
    CHECK_FALSE(is_free(part.sources[0]));
    test::Await([&] { return is_free(part.sources[0]) && is_free(member); });
    CHECK_FAILS(groups.Cut(part), kAborted, "not being cut any more");
    CHECK(pool.Undecided().empty());
  }
  SECTION("after it was sealed: it stays undecided") {
    REQUIRE_OK(groups.Cut(part));
    REQUIRE_OK(groups.Seal(part));
    CHECK(is_free(part.sources[0]));
    test::Await([&] { return is_free(member); });
    CHECK(pool.Undecided().size() == 1);
    CHECK(Value(groups.End(part.group.id, {member}, /*keep=*/true)).size() == 1);
    CHECK(pool.Undecided().empty());
  }
  SECTION("another attempt does not go on with it") {
    GroupPart other = part;
    other.attempt = RandomUuid();
    CHECK_FAILS(groups.Cut(other), kAborted, "not being cut any more");
    CHECK_FAILS(groups.Hold(other).status(), kAborted, "is being cut");
  }
}

}  // namespace group_service_test
}  // namespace holdfast::controller
