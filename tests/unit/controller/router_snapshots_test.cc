// SPDX-License-Identifier: Apache-2.0
// Snapshots, restored volumes and clones of a controller with nodes.
#include <catch2/catch.hpp>
#include <set>

#include "controller/router.h"
#include "support/csi_requests.h"
#include "support/memory_cluster.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace router_snapshots_test {

using test::CreateOf;
using test::MemoryNode;
using Cluster = test::MemoryCluster;
using Ids = std::set<std::string>;

csi::v1::CreateVolumeRequest RestoreOf(const std::string& name, const std::string& snapshot,
                                       const std::vector<std::string>& nodes = {}) {
  csi::v1::CreateVolumeRequest request = CreateOf(name, nodes);
  request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(snapshot);
  return request;
}

csi::v1::CreateVolumeRequest CloneOf(const std::string& name, const std::string& volume) {
  csi::v1::CreateVolumeRequest request = CreateOf(name);
  request.mutable_volume_content_source()->mutable_volume()->set_volume_id(volume);
  return request;
}

// Two nodes; "pv" is on n1 and has the snapshot "snap".
struct Fixture {
  Cluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  MemoryNode& n2 = cluster.Add("n2");
  const std::string volume =
      test::Value(cluster.Create(CreateOf("pv", {"n1"}))).volume().volume_id();
  const csi::v1::Snapshot snapshot = test::Value(cluster.Snap(volume, "snap")).snapshot();
};

TEST_CASE_METHOD(Fixture, "a snapshot's life on the node of its volume") {
  CHECK_THAT(snapshot.snapshot_id(), Catch::StartsWith("s:default:n1:"));
  CHECK(snapshot.source_volume_id() == volume);
  CHECK(snapshot.size_bytes() == test::Value(cluster.Get(volume)).volume().capacity_bytes());
  CHECK(snapshot.ready_to_use());
  CHECK(snapshot.creation_time().seconds() > 0);
  const auto again = test::Value(cluster.Snap(volume, "snap")).snapshot();
  CHECK(again.SerializeAsString() == snapshot.SerializeAsString());
  const auto got = test::Value(cluster.GetSnapshot(snapshot.snapshot_id())).snapshot();
  CHECK(got.SerializeAsString() == snapshot.SerializeAsString());
  // It outlives its volume.
  REQUIRE_OK(cluster.Delete(volume));
  CHECK(test::Value(cluster.GetSnapshot(snapshot.snapshot_id())).snapshot().source_volume_id() ==
        volume);
  REQUIRE_OK(cluster.DeleteSnapshot(snapshot.snapshot_id()));
  REQUIRE_OK(cluster.DeleteSnapshot(snapshot.snapshot_id()));
  CHECK_FAILS(cluster.GetSnapshot(snapshot.snapshot_id()), kNotFound, "no snapshot");
  CHECK(cluster.hub.snapshot_names().Find("snap").empty());
}

TEST_CASE_METHOD(Fixture, "no two snapshots have one name, on whichever nodes") {
  const std::string other =
      test::Value(cluster.Create(CreateOf("pv-2", {"n2"}))).volume().volume_id();
  CHECK_FAILS(cluster.Snap(other, "snap"), kAlreadyExists, "on node 'n1'");
  const std::string beside =
      test::Value(cluster.Create(CreateOf("pv-3", {"n1"}))).volume().volume_id();
  CHECK_FAILS(cluster.Snap(beside, "snap"), kAlreadyExists, "another source");
  REQUIRE_OK(cluster.Snap(other, "pv"));  // a volume's name is free
  n1.Connect();                           // which names what it has
  CHECK_FAILS(cluster.Snap(other, "snap"), kAlreadyExists, "on node 'n1'");
  REQUIRE_OK(cluster.DeleteSnapshot(snapshot.snapshot_id()));
  REQUIRE_OK(cluster.Snap(other, "snap"));
}

TEST_CASE_METHOD(Fixture, "what is no snapshot") {
  CHECK_FAILS(cluster.Snap("pv", "x"), kNotFound, "no volume");
  CHECK_FAILS(cluster.Snap(snapshot.snapshot_id(), "x"), kNotFound, "no volume");
  CHECK_FAILS(cluster.Snap(volume, ""), kInvalidArgument, "name");
  CHECK_FAILS(cluster.GetSnapshot("s:nonsense"), kNotFound, "");
  CHECK_FAILS(cluster.GetSnapshot(volume), kNotFound, "");
  REQUIRE_OK(cluster.DeleteSnapshot("s:nonsense"));
  REQUIRE_OK(cluster.DeleteSnapshot(volume));
  REQUIRE_OK(cluster.Get(volume));
  CHECK_FAILS(cluster.Get(snapshot.snapshot_id()), kNotFound, "");
  REQUIRE_OK(cluster.Delete(snapshot.snapshot_id()));
  REQUIRE_OK(cluster.GetSnapshot(snapshot.snapshot_id()));
}

TEST_CASE_METHOD(Fixture, "a copy is made on the node of its source") {
  const auto restored =
      test::Value(cluster.Create(RestoreOf("r", snapshot.snapshot_id()))).volume();
  CHECK(restored.volume_id() == n1.IdOf("r"));
  CHECK(restored.content_source().snapshot().snapshot_id() == snapshot.snapshot_id());
  const auto wide = RestoreOf("wide", snapshot.snapshot_id(), {"n2", "n1"});
  CHECK(test::Value(cluster.Create(wide)).volume().volume_id() == n1.IdOf("wide"));
  const auto clone = test::Value(cluster.Create(CloneOf("c", volume))).volume();
  CHECK(clone.volume_id() == n1.IdOf("c"));
  CHECK(clone.content_source().volume().volume_id() == volume);
  const auto elsewhere = RestoreOf("e", snapshot.snapshot_id(), {"n2"});
  CHECK_FAILS(cluster.Create(elsewhere), kResourceExhausted, "is on node 'n1'");
  CHECK_FALSE(n2.Has("e"));
  REQUIRE_OK(cluster.DeleteSnapshot(snapshot.snapshot_id()));
  CHECK_FAILS(cluster.Create(RestoreOf("late", snapshot.snapshot_id())), kNotFound, "no snapshot");
  CHECK_FAILS(cluster.Create(RestoreOf("late", "nonsense")), kNotFound, "no snapshot");
}

TEST_CASE_METHOD(Fixture, "only a copy's node may say that something is not found") {
  n1.Refuse(absl::StatusCode::kNotFound);
  CHECK_FAILS(cluster.Create(CreateOf("plain", {"n1"})), kInternal, "node 'n1'");
  CHECK_FAILS(cluster.Create(CloneOf("copy", volume)), kNotFound, "node 'n1'");
}

TEST_CASE_METHOD(Fixture, "a node that is away answers for none of its snapshots") {
  n1.Leave();
  CHECK_FAILS(cluster.GetSnapshot(snapshot.snapshot_id()), kUnavailable, "not connected");
  CHECK_FAILS(cluster.DeleteSnapshot(snapshot.snapshot_id()), kUnavailable, "not connected");
  CHECK_FAILS(cluster.ListSnapshots(), kUnavailable, "not connected");
  CHECK_FAILS(cluster.Create(RestoreOf("r", snapshot.snapshot_id())), kUnavailable, "");
}

TEST_CASE_METHOD(Fixture, "a list has the snapshots of all nodes and own pools, in pages") {
  const std::string other =
      test::Value(cluster.Create(CreateOf("pv-2", {"n2"}))).volume().volume_id();
  const std::string shared = cluster.CreateShared("pv-3");
  Ids made = {snapshot.snapshot_id()};
  for (const std::string name : {"a", "b", "c"}) {
    for (const std::string& source : {volume, other, shared}) {
      made.insert(
          test::Value(cluster.Snap(source, name + source.substr(0, 10))).snapshot().snapshot_id());
    }
  }
  for (const int size : {0, 1, 2, 3, 4, 100}) {
    CAPTURE(size);
    Ids listed;
    csi::v1::ListSnapshotsRequest request;
    request.set_max_entries(size);
    do {
      const auto page = test::Value(cluster.ListSnapshots(request));
      if (size != 0) CHECK(page.entries_size() <= size);
      for (const auto& entry : page.entries()) {
        CHECK(listed.insert(entry.snapshot().snapshot_id()).second);
      }
      request.set_starting_token(page.next_token());
    } while (!request.starting_token().empty());
    CHECK(listed == made);
  }
  csi::v1::ListSnapshotsRequest request;
  request.set_source_volume_id(other);
  CHECK(test::Value(cluster.ListSnapshots(request)).entries_size() == 3);
  request.set_snapshot_id(snapshot.snapshot_id());
  CHECK(test::Value(cluster.ListSnapshots(request)).entries_size() == 0);
  request.set_source_volume_id("");
  CHECK(test::Value(cluster.ListSnapshots(request)).entries_size() == 1);
  request.set_snapshot_id("nonsense");
  CHECK(test::Value(cluster.ListSnapshots(request)).entries_size() == 0);
  request.set_starting_token("nonsense");
  CHECK_FAILS(cluster.ListSnapshots(request), kAborted, "starting_token");
}

TEST_CASE_METHOD(Fixture, "a node is believed about its own snapshots only") {
  const std::string foreign = "s:default:n2:" + VolumeId::Parse(volume)->uuid;
  csi::v1::CreateSnapshotResponse made;
  *made.mutable_snapshot() = snapshot;
  const auto say = [&](const csi::v1::Snapshot& said) {
    *made.mutable_snapshot() = said;
    n1.Say(made);
    return cluster.Snap(volume, "snap").status();
  };
  REQUIRE_OK(say(snapshot));
  csi::v1::Snapshot lie = snapshot;
  lie.set_snapshot_id(foreign);
  CHECK_FAILS(say(lie), kUnavailable, "is refused");
  lie.set_snapshot_id("s:default:n1:" + VolumeId::Parse(volume)->uuid);
  CHECK_FAILS(say(lie), kUnavailable, "is refused");
  lie = snapshot;
  lie.set_size_bytes(-1);
  CHECK_FAILS(say(lie), kUnavailable, "is refused");
  lie = snapshot;
  lie.mutable_creation_time()->set_nanos(-1);
  CHECK_FAILS(say(lie), kUnavailable, "is refused");
  lie = snapshot;
  lie.set_source_volume_id("default:n2:" + VolumeId::Parse(volume)->uuid);
  lie.set_group_snapshot_id("x");
  REQUIRE_OK(say(lie));  // known from the question
  CHECK(test::Value(cluster.Snap(volume, "snap")).snapshot().source_volume_id() == volume);
  csi::v1::GetSnapshotResponse got;
  *got.mutable_snapshot() = lie;
  n1.Say(got);
  CHECK_FAILS(cluster.GetSnapshot(snapshot.snapshot_id()), kUnavailable, "is refused");
  csi::v1::ListSnapshotsResponse list;
  *list.add_entries()->mutable_snapshot() = lie;
  n1.Say(list);
  CHECK_FAILS(cluster.ListSnapshots(), kUnavailable, "is refused");
  *list.mutable_entries(0)->mutable_snapshot() = snapshot;
  list.set_next_token("nonsense");
  n1.Say(list);
  CHECK_FAILS(cluster.ListSnapshots(), kUnavailable, "is refused");
}

}  // namespace router_snapshots_test
}  // namespace holdfast::controller
