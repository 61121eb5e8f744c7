// SPDX-License-Identifier: Apache-2.0
// The trash of a pool in Ceph, which several controllers have.
#include <catch2/catch.hpp>
#include <thread>

#include "ceph/rbd_under_test.h"
#include "core/trash_id.h"
#include "rbd/trash_table.h"
#include "support/outcome.h"

namespace holdfast::rbd {
namespace trash_conformance_test {

pool::VolumeRecord RecordOf(const RbdUnderTest& pool, const VolumeId& id) {
  return test::Value(RecordTable::Read(pool.ceph(), id.uuid)).record;
}

// A volume of the first controller that is in the trash, with data.
TrashId Trashed(RbdUnderTest& pool) {
  const VolumeId id = MakeVolume(pool.pool(), std::nullopt, std::chrono::hours(24));
  pool.WriteByte(RecordOf(pool, id), 1);
  REQUIRE_OK(pool.pool().Delete(id));
  return test::Value(pool.pool().ListTrash()).at(0).id;
}

TEST_CASE("of a restoration and a purge of one entry by two controllers one wins") {
  RbdUnderTest first;
  RbdUnderTest second;
  for (int round = 0; round < 16; ++round) {
    const TrashId entry = Trashed(first);
    absl::Status restored;
    absl::Status purged;
    {
      const std::jthread other([&] {
        // At another moment of the purge in each round.
        std::this_thread::sleep_for(std::chrono::milliseconds(round));
        restored = second.pool().RestoreTrash(entry).status();
      });
      purged = first.pool().PurgeTrash(entry);
    }
    CHECK(restored.ok() != purged.ok());
    if (restored.ok()) {
      const pool::VolumeRecord record = RecordOf(first, entry.place());
      CHECK(test::Value(HoldsData(first.ceph(), record.image_name, 0)));
      REQUIRE_OK(first.pool().Delete(entry.place()));
      REQUIRE_OK(first.pool().PurgeTrash(test::Value(first.pool().ListTrash()).at(0).id));
    }
    CHECK(first.Remains() == "");
  }
}

// A controller that was suspended in the middle of a restoration or of a purge goes on with what it
// has read.
TEST_CASE("what another controller has changed is not moved any more") {
  RbdUnderTest pool;
  const CephPool& ceph = pool.ceph();
  const TrashId entry = Trashed(pool);
  TrashedRecord read = test::Value(TrashTable::Read(ceph, entry.key));
  TrashedRecord stored = read;
  pool::VolumeRecord restored = read.record;
  restored.volume.state = read.record.trashed->before;
  restored.trashed.reset();
  SECTION("it is being purged") {
    pool::VolumeRecord tombstone = read.record;
    tombstone.volume.state = VolumeState::kDeleting;
    REQUIRE_OK(TrashTable::Replace(ceph, stored, tombstone));
    CHECK_FAILS(TrashTable::TakeBack(ceph, read, restored), kAborted, "by another process");
    CHECK_FAILS(TrashTable::Replace(ceph, read, tombstone), kAborted, "by another process");
    CHECK_FAILS(TrashTable::Remove(ceph, read), kAborted, "by another process");
    CHECK_FAILS(pool.pool().RestoreTrash(entry).status(), kNotFound, "is being purged");
    CHECK(test::Value(pool.pool().ListTrash()).empty());
    CHECK(test::Value(pool.pool().TendTrash(entry)));
  }
  SECTION("it was restored") {
    REQUIRE_OK(TrashTable::TakeBack(ceph, stored, restored));
    CHECK_FAILS(TrashTable::TakeBack(ceph, read, restored), kNotFound, "there is no entry");
    CHECK_FAILS(TrashTable::Replace(ceph, read, read.record), kAborted, "by another process");
    REQUIRE_OK(TrashTable::Remove(ceph, read));
    CHECK(RecordOf(pool, entry.place()) == restored);
    REQUIRE_OK(pool.pool().Delete(entry.place()));
    REQUIRE_OK(pool.pool().PurgeTrash(test::Value(pool.pool().ListTrash()).at(0).id));
  }
  SECTION("its place was taken") {
    REQUIRE_OK(RecordTable::Insert(ceph, restored).status());
    CHECK_FAILS(TrashTable::TakeBack(ceph, read, restored), kAlreadyExists, "in the place");
    RecordEntry inserted = test::Value(RecordTable::Read(ceph, entry.place().uuid));
    REQUIRE_OK(RecordTable::Remove(ceph, inserted));
    REQUIRE_OK(pool.pool().PurgeTrash(entry));
  }
  CHECK(pool.Remains() == "");
}

// Both were begun by two controllers, and one of them has stopped between its steps.
TEST_CASE("a half-moved volume gets into the trash by each call that finds it") {
  RbdUnderTest pool;
  const VolumeId id = MakeVolume(pool.pool(), std::nullopt, std::chrono::hours(24));
  RecordEntry entry = test::Value(RecordTable::Read(pool.ceph(), id.uuid));
  pool::VolumeRecord trashed = entry.record;
  trashed.volume.state = VolumeState::kTrashed;
  trashed.trashed = pool::Trashed{.key = TrashKey(id.uuid, absl::Now()),
                                  .deleted_at = "2026-11-25T08:45:00Z",
                                  .keep = std::chrono::hours(24),
                                  .before = VolumeState::kReady};
  REQUIRE_OK(RecordTable::Replace(pool.ceph(), entry, trashed, /*as_holder=*/true));
  CHECK_FAILS(pool.pool().Get(id), kNotFound, "there is no volume");
  CHECK(test::Value(pool.pool().ListTrash()).empty());
  SECTION("a repeated deletion") { REQUIRE_OK(pool.pool().Delete(id)); }
  SECTION("the reconciler") {
    bool found = false;
    for (const Leftover& leftover : test::Value(pool.pool().FindLeftovers())) {
      found |= leftover.subject == id.ToString();
    }
    CHECK(found);
    CHECK(test::Value(pool.pool().Repair(id)));
  }
  const auto entries = test::Value(pool.pool().ListTrash());
  REQUIRE(entries.size() == 1);
  CHECK(entries.front().id.key == trashed.trashed->key);
  CHECK(test::Value(pool.pool().RestoreTrash(entries.front().id)).id == id);
  CHECK(RecordOf(pool, id) == [&] {
    pool::VolumeRecord before = trashed;
    before.volume.state = VolumeState::kReady;
    before.trashed.reset();
    return before;
  }());
  REQUIRE_OK(pool.pool().Delete(id));
  REQUIRE_OK(pool.pool().PurgeTrash(test::Value(pool.pool().ListTrash()).at(0).id));
  CHECK(pool.Remains() == "");
}

// A creation that was killed has left its snapshot on the volume, which is deleted since.
TEST_CASE("what a clone has left on a volume in the trash is removed") {
  RbdUnderTest pool;
  const TrashId entry = Trashed(pool);
  const std::string image = test::Value(TrashTable::Read(pool.ceph(), entry.key)).record.image_name;
  pool::VolumeRecord clone;
  clone.volume.id.uuid = pool.NewUuid();
  clone.volume.state = VolumeState::kDeleting;
  clone.volume.source = ContentSource{VolumeRole::kVolume, entry.place()};
  clone.image_name = NewImageName(clone.volume.id.uuid);
  REQUIRE_OK(CutImageSnapshot(pool.ceph(), {image, clone.image_name}).status());
  REQUIRE_OK(pool.NewCall()->backend().Discard(clone));
  CHECK(test::Value(ListImageSnapshots(pool.ceph(), image)).value().empty());
  REQUIRE_OK(pool.pool().PurgeTrash(entry));
  CHECK(pool.Remains() == "");
}

}  // namespace trash_conformance_test
}  // namespace holdfast::rbd
