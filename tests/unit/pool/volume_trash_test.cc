// SPDX-License-Identifier: Apache-2.0
// Deletion into the trash, restoring and purging, with failures in between.
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <string>

#include "core/trash_id.h"
#include "pool/volume_lifecycle.h"
#include "simulator/memory_volumes.h"
#include "support/memory_shelf.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace volume_trash_test {

using simulator::Fault;
using std::chrono::hours;
using test::Value;

constexpr Bytes kSize = 4 * kMiB;
const VolumeId kId{"p", "n", "aaaa0000-0000-4000-8000-000000000001"};
const VolumeId kOther{"p", "n", "bbbb0000-0000-4000-8000-000000000001"};
const VolumeId kSnapshot{"p", "n", "cccc0000-0000-4000-8000-000000000001"};

absl::Time wall = absl::UnixEpoch() + absl::Hours(24 * 365 * 50);
Trash::Clock::time_point monotonic;

class OneFault final : public simulator::Faults {
 public:
  Fault At(const char* name, const std::string&) override {
    return name == fail ? Fault::kError : Fault::kNone;
  }
  void After(Fault) override {}
  std::string fail;
};

struct Fixture {
  Fixture() { machine.total = 16 * kMiB; }

  static VolumeSpec Spec(Bytes size = kSize) {
    VolumeSpec spec;
    spec.name = "pvc";
    spec.capacity.required = size;
    spec.access_type = AccessType::kBlock;
    return spec;
  }
  // The key of the entry that a new volume becomes when it is deleted.
  std::string Trashed(const VolumeId& id = kId, Bytes size = kSize) {
    REQUIRE_OK(volumes.Create(Spec(size), id, 512).status());
    const std::string key = TrashKey(id.uuid, wall);
    REQUIRE_OK(volumes.Delete(id));
    REQUIRE(machine.trash.contains(key));
    wall += absl::Seconds(1);
    return key;
  }
  Bytes Promised() { return ledger.Provisioned(Provisioning::kThick); }
  [[nodiscard]] bool IsThere() const { return machine.volumes.contains(kId.uuid); }

  simulator::Machine machine;
  Ledger ledger{
      SpacePolicy{.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1}};
  std::set<std::string> listed;
  OneFault faults;
  simulator::MemoryRecords records{machine, listed, faults};
  simulator::MemoryBackend backend{machine, faults};
  simulator::MemorySpace space{machine, ledger};
  test::MemoryShelf shelf{machine};
  Trash trash{TrashPolicy{.keep = hours(24), .reclaim = true}, [] { return monotonic; }};
  VolumeLifecycle volumes{records, backend, space, [] { return wall; }, Keeping{shelf, trash}};
};

TEST_CASE_METHOD(Fixture, "a deleted volume keeps its bytes and its space, and no call finds it") {
  const std::string key = Trashed();
  CHECK_FAILS(volumes.Get(kId).status(), kNotFound, "there is no volume");
  CHECK_FAILS(volumes.Grow(kId, 2 * kSize, 0).status(), kNotFound, "there is no volume");
  CHECK_FAILS(volumes.Map(kId).status(), kNotFound, "there is no volume");
  CHECK_FALSE(volumes.FindLeftover(kId.uuid));
  CHECK_FALSE(listed.contains(kId.uuid));
  CHECK(Promised() == kSize);
  CHECK(trash.Find(key)->allocated == kSize);
  REQUIRE_OK(volumes.Delete(kId));
  CHECK(trash.Count() == 1);
}

TEST_CASE_METHOD(Fixture, "a volume's own time comes before the pool's, and 0 deletes at once") {
  VolumeSpec spec = Spec();
  spec.keep_deleted = std::chrono::seconds(0);
  REQUIRE_OK(volumes.Create(spec, kId, 512).status());
  REQUIRE_OK(volumes.Delete(kId));
  CHECK(machine.trash.empty());
  CHECK(Promised() == 0);
  spec.keep_deleted = hours(48);
  REQUIRE_OK(volumes.Create(spec, kId, 512).status());
  REQUIRE_OK(volumes.Delete(kId));
  CHECK(trash.List().at(0).record.trashed->keep == hours(48));
}

TEST_CASE_METHOD(Fixture, "what is restored is as it was") {
  const std::string key = Trashed();
  const VolumeRecord restored = Value(volumes.Restore(key));
  CHECK(restored.volume.state == VolumeState::kReady);
  CHECK_FALSE(restored.trashed);
  CHECK(Value(volumes.Get(kId)) == restored);
  CHECK(listed.contains(kId.uuid));
  CHECK(Promised() == kSize);
  CHECK(trash.Count() == 0);
  CHECK_FAILS(volumes.Restore(key).status(), kNotFound, "there is no entry");
}

TEST_CASE_METHOD(Fixture, "a volume that is made again under the name is another one") {
  const std::string key = Trashed();
  const VolumeRecord fresh = Value(volumes.Create(Spec(2 * kSize), kId, 512));
  CHECK(fresh.volume.capacity_bytes == 2 * kSize);
  CHECK(Promised() == 3 * kSize);
  CHECK_FAILS(volumes.Restore(key).status(), kAlreadyExists, "delete it first");
  CHECK(trash.Count() == 1);
  REQUIRE_OK(volumes.Delete(kId));
  CHECK(trash.Count() == 2);
  CHECK(Value(volumes.Restore(key)).volume.capacity_bytes == kSize);
}

TEST_CASE_METHOD(Fixture, "two deletions in one second are two entries") {
  const std::string key = Trashed();
  wall -= absl::Seconds(1);
  REQUIRE_OK(volumes.Create(Spec(), kId, 512).status());
  REQUIRE_OK(volumes.Delete(kId));
  CHECK(trash.Count() == 2);
  CHECK(trash.Find(key));
}

TEST_CASE_METHOD(Fixture, "an entry is purged when its time has passed, whatever the clock says") {
  const std::string key = Trashed();
  wall += absl::Hours(24 * 365);
  CHECK_FALSE(Value(volumes.Tend(key)));
  monotonic += hours(23);
  CHECK_FALSE(Value(volumes.Tend(key)));
  CHECK(Value(shelf.Read(key)).trashed->kept == hours(23));  // for the next process
  wall -= absl::Hours(24 * 365 * 2);
  monotonic += hours(1);
  CHECK(Value(volumes.Tend(key)));
  CHECK(machine.trash.empty());
  CHECK(Promised() == 0);
  CHECK(trash.Count() == 0);
}

TEST_CASE_METHOD(Fixture, "a process that starts counts on from what was noted") {
  const std::string key = Trashed();
  monotonic += hours(20);
  CHECK_FALSE(Value(volumes.Tend(key)));
  monotonic += std::chrono::minutes(30);  // not noted
  Trash next{TrashPolicy{.keep = hours(24)}, [] { return monotonic; }};
  VolumeLifecycle started{records, backend, space, [] { return wall; }, Keeping{shelf, next}};
  wall += absl::Hours(24 * 365);  // and the clock is wrong
  REQUIRE_OK(started.CountEntry(key));
  CHECK(next.Find(key)->kept == hours(20));
  CHECK_FALSE(Value(started.Tend(key)));
  monotonic += hours(4);
  CHECK(Value(started.Tend(key)));
}

TEST_CASE_METHOD(Fixture, "a deletion that was cut short gets into the trash") {
  REQUIRE_OK(volumes.Create(Spec(), kId, 512).status());
  shelf.fail = "put";
  CHECK_FAILS(volumes.Delete(kId), kInternal, "put failed");
  shelf.fail = "";
  CHECK(IsThere());
  CHECK_FAILS(volumes.Get(kId).status(), kNotFound, "there is no volume");
  CHECK(volumes.FindLeftover(kId.uuid) == LeftoverKind::kUnfinishedDeletion);
  SECTION("by the reconciler") { CHECK(Value(volumes.Repair(kId))); }
  SECTION("by the repeated call") { REQUIRE_OK(volumes.Delete(kId)); }
  SECTION("by a new volume of the name") {
    REQUIRE_OK(volumes.Create(Spec(), kId, 512).status());
    CHECK(Promised() == 2 * kSize);
    REQUIRE_OK(volumes.Delete(kId));
    CHECK(trash.Count() == 2);
    return;
  }
  SECTION("after a start") {
    ledger.Remove(kId.uuid);
    REQUIRE_OK(volumes.Count(kId.uuid));
    CHECK(Promised() == kSize);
    CHECK(Value(volumes.Repair(kId)));
  }
  CHECK_FALSE(IsThere());
  CHECK(trash.Count() == 1);
  CHECK(Promised() == kSize);
}

TEST_CASE_METHOD(Fixture, "a full disk does not keep a volume from the trash") {
  REQUIRE_OK(volumes.Create(Spec(), kId, 512).status());
  faults.fail = "replace record";
  REQUIRE_OK(volumes.Delete(kId));
  CHECK_FALSE(IsThere());
  CHECK(trash.Count() == 1);
}

TEST_CASE_METHOD(Fixture, "a restoration that fails leaves the entry in the trash") {
  const std::string key = Trashed();
  SECTION("when it is moved") {
    shelf.fail = "take back";
    CHECK_FAILS(volumes.Restore(key).status(), kInternal, "take back failed");
  }
  SECTION("when it is recorded") {
    faults.fail = "replace record";
    CHECK_FAILS(volumes.Restore(key).status(), kInternal, "replace record failed");
  }
  SECTION("because its image is gone") {
    const auto image = std::exchange(machine.trash.at(key)->now.image, std::nullopt);
    CHECK_FAILS(volumes.Restore(key).status(), kFailedPrecondition, "missing");
    machine.trash.at(key)->now.image = image;
  }
  SECTION("because a purge is under way") {
    const Trash::Claim claim = Value(trash.TryClaim(key));
    CHECK_FAILS(volumes.Restore(key).status(), kAborted, "try again");
  }
  faults.fail = shelf.fail = "";
  CHECK_FALSE(IsThere());
  CHECK(Promised() == kSize);
  CHECK(trash.Count() == 1);
  REQUIRE_OK(volumes.Restore(key).status());
  CHECK(IsThere());
}

TEST_CASE_METHOD(Fixture, "what is half purged is not restored, and purged to the end") {
  const std::string key = Trashed();
  shelf.fail = "purge";
  CHECK_FAILS(volumes.PurgeEntry(key), kInternal, "purge failed");
  shelf.fail = "";
  CHECK_FAILS(volumes.Restore(key).status(), kNotFound, "is being purged");
  CHECK(Value(volumes.Tend(key)));
  CHECK(machine.trash.empty());
  CHECK(Promised() == 0);
  CHECK_FAILS(volumes.PurgeEntry(key), kNotFound, "");
}

TEST_CASE_METHOD(Fixture, "the oldest are purged for what would not fit otherwise") {
  const std::string oldest = Trashed(kId, 6 * kMiB);
  const std::string newest = Trashed(kOther, 6 * kMiB);
  SECTION("where it helps, and no more than needed") {
    REQUIRE_OK(volumes.Create(Spec(8 * kMiB), kId, 512).status());
    CHECK_FALSE(trash.Find(oldest));
    CHECK(trash.Find(newest));
    CHECK(Promised() == 14 * kMiB);
  }
  SECTION("also for a growth") {
    REQUIRE_OK(volumes.Create(Spec(kSize), kId, 512).status());
    REQUIRE_OK(volumes.Grow(kId, 8 * kMiB, 0).status());
    CHECK_FALSE(trash.Find(oldest));
    CHECK(trash.Find(newest));
  }
  SECTION("not where it does not help") {
    CHECK_FAILS(volumes.Create(Spec(17 * kMiB), kId, 512).status(), kResourceExhausted, "");
    CHECK(trash.Count() == 2);
  }
  SECTION("not where the pool does not say so") {
    Trash kept{TrashPolicy{.keep = hours(24)}, [] { return monotonic; }};
    kept.Set(Value(shelf.Read(oldest)), 6 * kMiB);
    VolumeLifecycle other{records, backend, space, [] { return wall; }, Keeping{shelf, kept}};
    CHECK_FAILS(other.Create(Spec(8 * kMiB), kId, 512).status(), kResourceExhausted, "");
    CHECK(kept.Count() == 1);
  }
  SECTION("not one that is being restored") {
    const Trash::Claim claim = Value(trash.TryClaim(oldest));
    REQUIRE_OK(volumes.Create(Spec(8 * kMiB), kId, 512).status());
    CHECK(trash.Find(oldest));
    CHECK_FALSE(trash.Find(newest));
  }
}

TEST_CASE_METHOD(Fixture, "snapshots and their volumes are kept each for themselves") {
  REQUIRE_OK(volumes.Create(Spec(), kId, 512).status());
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = "snapshot";
  spec.source = ContentSource{VolumeRole::kVolume, kId};
  const VolumeRecord cut = Value(volumes.Create(spec, kSnapshot, 512));
  const std::string volume = TrashKey(kId.uuid, wall);
  REQUIRE_OK(volumes.Delete(kId));
  // Its volume is in the trash.
  CHECK(Value(volumes.Get(kSnapshot, VolumeRole::kSnapshot)).volume == cut.volume);
  VolumeSpec copy = Spec();
  copy.source = ContentSource{VolumeRole::kSnapshot, kSnapshot};
  REQUIRE_OK(volumes.Create(copy, kOther, 512).status());
  const std::string snapshot = TrashKey(kSnapshot.uuid, wall);
  REQUIRE_OK(volumes.Delete(kSnapshot, VolumeRole::kSnapshot));
  CHECK_FAILS(volumes.Get(kSnapshot, VolumeRole::kSnapshot).status(), kNotFound, "");
  REQUIRE_OK(volumes.Get(kOther).status());
  CHECK(trash.HasCopies());
  CHECK(Value(volumes.Restore(snapshot)).volume == cut.volume);
  REQUIRE_OK(volumes.Restore(volume).status());
}

TEST_CASE_METHOD(Fixture, "a snapshot of a group comes back as one of its own") {
  REQUIRE_OK(volumes.Create(Spec(), kId, 512).status());
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = "snapshot";
  spec.source = ContentSource{VolumeRole::kVolume, kId};
  VolumeRecord cut = Value(volumes.Create(spec, kSnapshot, 512));
  cut.volume.group = SnapshotGroup{.id = "g:" + kId.uuid, .members = {ToSnapshotId(kSnapshot)}};
  machine.volumes.at(kSnapshot.uuid)->now.record = cut;
  const std::string key = TrashKey(kSnapshot.uuid, wall);
  REQUIRE_OK(volumes.Delete(kSnapshot, VolumeRole::kSnapshot));
  CHECK_FALSE(Value(volumes.Restore(key)).volume.group);
}

}  // namespace volume_trash_test
}  // namespace holdfast::pool
