// SPDX-License-Identifier: Apache-2.0
// The conformance suite on a pool in Ceph; tests/ceph/test_conformance.py starts it. The guest of
// tests/ceph/guest covers what needs the kernel's client.
#include "conformance/conformance.h"

#include <catch2/catch.hpp>
#include <thread>

#include "ceph/rbd_under_test.h"

#include "core/volume_id.h"
#include "pool/group_member.h"
#include "rbd/format_mark.h"
#include "rbd/retained.h"
#include "support/outcome.h"

namespace holdfast::rbd {

// A node that was cut off while formatting must not mark an image that its successor has zeroed.
TEST_CASE("a mark that was refused is not set any more") {
  RbdUnderTest pool;
  const auto call = pool.NewCall();
  pool::VolumeRecord record;
  record.volume.id.uuid = pool.NewUuid();
  record.volume.capacity_bytes = kMiB;
  record.volume.filesystem = "ext4";
  record.volume.filesystem_uuid = RandomUuid();
  record.image_name = call->backend().NewName(record, nullptr);
  record.image_id = test::Value(call->backend().Make(record));
  const std::string mark = MarkOf(record.volume);
  const std::string later = "ext4 " + RandomUuid();
  REQUIRE_OK(RefuseFormatMark(pool.ceph(), record.image_id, mark));
  CHECK_FAILS(SetFormatMark(pool.ceph(), record.image_id, mark), kAborted, "taken over and zeroed");
  CHECK_FALSE(test::Value(ReadFormatMark(pool.ceph(), record.image_id)).has_value());
  REQUIRE_OK(SetFormatMark(pool.ceph(), record.image_id, later));
  CHECK(test::Value(ReadFormatMark(pool.ceph(), record.image_id)) == later);
  CHECK_FAILS(RefuseFormatMark(pool.ceph(), record.image_id, later), kFailedPrecondition,
              "was marked as formatted meanwhile");
  record.volume.state = VolumeState::kDeleting;
  REQUIRE_OK(call->backend().Discard(record));
  CHECK_FALSE(SetFormatMark(pool.ceph(), record.image_id, later).ok());
}

// A member of a group snapshot whose volume nothing uses is cut before any writers are held back.
TEST_CASE("what is written to an unused volume while its group is cut voids the cut") {
  RbdUnderTest pool;
  const auto call = pool.NewCall();
  VolumeSpec volume;
  volume.name = RandomUuid();
  volume.capacity.required = 16 * kMiB;
  volume.provisioning = Provisioning::kThin;
  volume.access_type = AccessType::kBlock;
  pool::VolumeLifecycle volumes(call->records(), call->backend(), call->space());
  const VolumeId origin{"ceph", "", pool.NewUuid()};
  const pool::VolumeRecord source = test::Value(volumes.Create(volume, origin, 512));
  const VolumeId id{"ceph", "", pool.NewUuid()};
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = RandomUuid();
  spec.source = ContentSource{VolumeRole::kVolume, origin};
  spec.group = SnapshotGroup{.id = "g:" + RandomUuid(), .members = {ToSnapshotId(id)}};
  pool.WriteByte(source, 1);
  pool::GroupMember member(volumes, call->backend(), test::Value(volumes.BeginMember(spec, id)));
  REQUIRE_OK(member.Prepare());
  const absl::Status void_cut = Aborted("as the test expects");
  SECTION("nothing is written") {
    CHECK(test::Value(member.Hold()).held);
    REQUIRE_OK(member.Cut());
    REQUIRE_OK(member.Release());
    REQUIRE_OK(member.Seal());
    CHECK(test::Value(volumes.EndMember(id, spec.group->id, /*keep=*/true)));
    REQUIRE_OK(volumes.Delete(id, VolumeRole::kSnapshot));
  }
  SECTION("something is written, where there was data or not") {
    pool.WriteByte(source, GENERATE(1, 9 * kMiB));
    CHECK(test::Value(member.Hold()).held);
    REQUIRE_OK(member.Cut());
    CHECK_FAILS(member.Seal(), kAborted, "was written to before");
    CHECK_FALSE(test::Value(volumes.EndMember(id, spec.group->id, /*keep=*/false)));
  }
  SECTION("what was sealed is undone, and the cause stays") {
    REQUIRE_OK(member.Seal());
    CHECK(member.Undo(void_cut) == void_cut);
  }
  SECTION("what another process has removed stays removed") {
    CHECK_FALSE(test::Value(volumes.EndMember(id, spec.group->id, /*keep=*/false)));
    CHECK_FAILS(member.Seal(), kAborted, "was removed while");
  }
  REQUIRE_OK(volumes.Delete(origin));
  CHECK(pool.Remains() == "");
}

// The controller asks the node that has it to hold it back, and does not if that is not the only
// one.
TEST_CASE("a volume that a node has to write is cut if only that node has it until the end") {
  const RbdUnderTest pool;
  const VolumeId origin = MakeVolume(pool.pool());
  const auto set_nodes = [&](const std::vector<DeviceClaim>& holders) {
    RecordEntry entry = test::Value(RecordTable::Read(pool.ceph(), origin.uuid));
    REQUIRE_OK(RecordTable::SetNodes(pool.ceph(), entry, {.holders = holders, .published = {}}));
    return entry.record.image_name;
  };
  const DeviceClaim writer{.node = "n1", .client_address = "10.7.7.7:0/1"};
  const DeviceClaim reader{.node = "n2",
                           .client_address = "10.7.7.7:0/2",
                           .sharing = Sharing::kReaders,
                           .read_only = true};
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = RandomUuid();
  spec.source = ContentSource{VolumeRole::kVolume, origin};
  const VolumeId id = pool.pool().IdForSpec(spec);
  spec.group = SnapshotGroup{.id = "g:" + RandomUuid(), .members = {ToSnapshotId(id)}};
  const std::string image = set_nodes({writer});
  const auto member = test::Value(pool.pool().BeginCut(spec));
  REQUIRE_OK(member->Prepare());
  SECTION("it stays there") {
    const auto writers = test::Value(member->Hold());
    CHECK_FALSE(writers.held);
    CHECK(writers.node == "n1");
    CHECK(writers.device == image + "@10.7.7.7:0/1");
    REQUIRE_OK(member->Cut());
    REQUIRE_OK(member->Release());
    REQUIRE_OK(member->Seal());
    CHECK(test::Value(pool.pool().EndMember(id, spec.group->id, /*keep=*/true)));
  }
  SECTION("it goes to another node, or to another client of the same one") {
    CHECK(test::Value(member->Hold()).node == "n1");
    REQUIRE_OK(member->Cut());
    DeviceClaim later = writer;
    (GENERATE(true, false) ? later.node : later.client_address) += "1";
    set_nodes({later});
    CHECK_FAILS(member->Seal(), kAborted, "another node or client than 'n1'");
    CHECK_FALSE(test::Value(pool.pool().EndMember(id, spec.group->id, /*keep=*/false)));
  }
  SECTION("it is not known which client may write") {
    DeviceClaim announced = writer;
    announced.client_address = "";
    set_nodes({GENERATE(true, false) ? announced : reader});
    CHECK(test::Value(member->Hold()).node.empty());
    CHECK(member->Undo(absl::OkStatus()).ok());
  }
  set_nodes({});
  REQUIRE_OK(pool.pool().DeleteSnapshot(id));
  REQUIRE_OK(pool.pool().Delete(origin));
}

// One was suspended after it had sealed its member; its group was given up and is being made again.
TEST_CASE("a controller keeps no member that another one has made in the place of its own") {
  const RbdUnderTest first;
  const RbdUnderTest second;
  const VolumeId origin = MakeVolume(first.pool());
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = RandomUuid();
  spec.source = ContentSource{VolumeRole::kVolume, origin};
  const VolumeId id = first.pool().IdForSpec(spec);
  const std::string group = "g:" + RandomUuid();
  spec.group = SnapshotGroup{.id = group, .members = {ToSnapshotId(id)}};
  const auto seal = [&](RbdPool& pool) {
    const auto member = test::Value(pool.BeginCut(spec));
    REQUIRE_OK(member->Prepare());
    CHECK(test::Value(member->Hold()).held);
    REQUIRE_OK(member->Cut());
    REQUIRE_OK(member->Seal());
  };
  seal(first.pool());
  CHECK_FALSE(test::Value(second.pool().EndMember(id, group, /*keep=*/false)));
  seal(second.pool());
  CHECK_FAILS(first.pool().EndMember(id, group, /*keep=*/true), kAborted, "another process");
  CHECK(test::Value(second.pool().FindUndecided(id)).id == id);
  CHECK(test::Value(second.pool().MembersOf(group)).empty());
  CHECK(test::Value(second.pool().EndMember(id, group, /*keep=*/true)));
  CHECK_FAILS(second.pool().FindUndecided(id), kNotFound, "no undecided");
  CHECK(test::Value(first.pool().MembersOf(group)).size() == 1);
  REQUIRE_OK(first.pool().DeleteSnapshot(id));
  REQUIRE_OK(first.pool().Delete(origin));
}

VolumeId MakeSnapshot(RbdPool& pool, const VolumeId& of) {
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = RandomUuid();
  spec.source = ContentSource{VolumeRole::kVolume, of};
  return test::Value(pool.Create(spec)).id;
}

TEST_CASE("a snapshot loses its name only without clones, and gets none after that") {
  const RbdUnderTest pool;
  const CephPool& ceph = pool.ceph();
  const VolumeId origin = MakeVolume(pool.pool());
  const VolumeId snapshot = MakeSnapshot(pool.pool(), origin);
  const pool::VolumeRecord record = test::Value(RecordTable::Read(ceph, snapshot.uuid)).record;
  const SnapshotIds ids = ParseSnapshotIds(record.image_id).value();
  const SnapshotName name = ParseSnapshotName(record.image_name).value();
  const VolumeId copy = MakeVolume(pool.pool(), ContentSource{VolumeRole::kSnapshot, snapshot});
  CHECK(test::Value(TrashSnapshotWithoutClones(ceph, ids)) == Trashing::kHasClones);
  CHECK_FALSE(test::Value(RemoveImageSnapshot(ceph, name.image, ids)));
  const HeaderSnapshot found = test::Value(ReadHeaderSnapshot(ceph, ids)).value();
  CHECK(found.clones == 1);
  CHECK(found.snapshot.name == name.snapshot);
  CHECK(found.snapshot.kind == ImageSnapshot::Kind::kNamed);
  CHECK(found.snapshot.size == 16 * kMiB);
  REQUIRE_OK(pool.pool().Delete(copy));
  CHECK(test::Value(TrashSnapshotWithoutClones(ceph, ids)) == Trashing::kDone);
  CHECK(test::Value(TrashSnapshotWithoutClones(ceph, ids)) == Trashing::kDone);
  CHECK_FAILS(CloneImage(ceph, name, NewImageName(snapshot.uuid), ""), kFailedPrecondition,
              "there is no snapshot");
  CHECK(test::Value(RemoveImageSnapshot(ceph, name.image, ids)));
  CHECK(test::Value(RemoveImageSnapshot(ceph, name.image, ids)));
  CHECK_FALSE(test::Value(ReadHeaderSnapshot(ceph, ids)).has_value());
  REQUIRE_OK(pool.pool().DeleteSnapshot(snapshot));
  REQUIRE_OK(pool.pool().Delete(origin));
}

TEST_CASE("the last clone goes while its snapshot is deleted, and nothing is left") {
  RbdUnderTest first;
  const RbdUnderTest second;
  const VolumeId origin = MakeVolume(first.pool());
  const std::string image =
      test::Value(RecordTable::Read(first.ceph(), origin.uuid)).record.image_name;
  for (int round = 0; round < 8; ++round) {
    const VolumeId snapshot = MakeSnapshot(first.pool(), origin);
    const VolumeId copy = MakeVolume(first.pool(), ContentSource{VolumeRole::kSnapshot, snapshot});
    absl::Status deleted;
    {
      const std::jthread other([&] {
        // At another moment of the other deletion in each round.
        std::this_thread::sleep_for(std::chrono::milliseconds(5 * round));
        deleted = second.pool().DeleteSnapshot(snapshot);
      });
      REQUIRE_OK(first.pool().Delete(copy));
    }
    REQUIRE_OK(deleted);
    CHECK(test::Value(ListImageSnapshots(first.ceph(), image)).value().empty());
    CHECK(test::Value(ListRetained(first.ceph())).empty());
  }
  REQUIRE_OK(first.pool().Delete(origin));
  CHECK(first.Remains() == "");
}

TEST_CASE("a pool in Ceph conforms") {
  RbdUnderTest pool;
  CheckContract(pool);
  CheckLivesWithFaults(pool);
}

}  // namespace holdfast::rbd
