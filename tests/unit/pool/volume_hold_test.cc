// SPDX-License-Identifier: Apache-2.0
// Snapshots that are held for a copy elsewhere: how long they stay, and what becomes of one that
// cannot be completed.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "pool/volume_lifecycle.h"
#include "simulator/memory_volumes.h"
#include "support/memory_pool.h"
#include "support/outcome.h"
#include "support/stepping_backend.h"

namespace holdfast::pool {
namespace volume_hold_test {

using simulator::Fault;
using test::Value;

constexpr Bytes kStep = test::SteppingBackend::kStep;
constexpr Bytes kSize = 4 * kStep;
const VolumeId kOrigin{"p", "n", "aaaa0000-0000-4000-8000-000000000001"};
const VolumeId kHeld{"p", "n", "bbbb0000-0000-4000-8000-000000000001"};

absl::Time now = absl::UnixEpoch() + absl::Hours(24 * 365 * 50);

class NoFaults final : public simulator::Faults {
 public:
  Fault At(const char*, const std::string&) override { return Fault::kNone; }
  void After(Fault) override {}
};

struct Fixture {
  Fixture() {
    machine.total = 64 * kStep;
    VolumeSpec spec;
    spec.name = "origin";
    spec.capacity.required = kSize;
    spec.provisioning = Provisioning::kThin;
    spec.access_type = AccessType::kBlock;
    REQUIRE_OK(volumes.Create(spec, kOrigin, 4096).status());
  }
  static VolumeSpec HeldSpec() {
    VolumeSpec spec;
    spec.role = VolumeRole::kSnapshot;
    spec.name = "copy";
    spec.source = ContentSource{VolumeRole::kVolume, kOrigin};
    spec.hold = true;
    return spec;
  }
  absl::StatusOr<VolumeRecord> Hold() { return volumes.Create(HeldSpec(), kHeld, 512); }
  void Finish() {
    while (!Value(volumes.Repair(kHeld))) continue;
  }
  [[nodiscard]] bool Exists() const { return machine.volumes.contains(kHeld.uuid); }

  simulator::Machine machine;
  Ledger ledger{
      SpacePolicy{.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1}};
  std::set<std::string> listed;
  NoFaults faults;
  simulator::MemoryRecords records{machine, listed, faults};
  test::SteppingBackend backend{machine, faults};
  simulator::MemorySpace space{machine, ledger};
  VolumeLifecycle volumes{records, backend, space, [] { return now; }};
};

TEST_CASE_METHOD(Fixture, "a held snapshot is removed when it was not asked for within an hour") {
  CHECK(Value(Hold()).volume.held());
  CHECK_FAILS(volumes.GetContent(kHeld).status(), kAborted, "is being copied");
  Finish();
  CHECK(Value(volumes.GetContent(kHeld)).volume.held());
  REQUIRE_OK(volumes.Delete(kOrigin));  // which it does not need
  SECTION("since it was made") {}
  SECTION("since it was asked for again, or read") {
    now += absl::Minutes(59);
    CHECK_FALSE(volumes.FindLeftover(kHeld.uuid));
    REQUIRE_OK(volumes.KeepHeld(kHeld));
  }
  now += absl::Minutes(59);
  CHECK_FALSE(volumes.FindLeftover(kHeld.uuid));
  CHECK_FALSE(Value(volumes.Repair(kHeld)));
  now += absl::Minutes(1);
  CHECK(volumes.FindLeftover(kHeld.uuid) == LeftoverKind::kUnfinishedCopy);
  CHECK(Value(volumes.Repair(kHeld)));
  CHECK_FALSE(Exists());
  CHECK(ledger.Provisioned(Provisioning::kThin) == 0);
  CHECK_FAILS(volumes.KeepHeld(kHeld), kNotFound, "there is no snapshot");
}

TEST_CASE_METHOD(Fixture, "the record is not written for every call") {
  REQUIRE_OK(Hold().status());
  const std::string made = Value(records.Read(kHeld.uuid)).volume.held_at;
  now += absl::Minutes(4);
  REQUIRE_OK(volumes.KeepHeld(kHeld));
  CHECK(Value(records.Read(kHeld.uuid)).volume.held_at == made);
  now += absl::Minutes(1);
  REQUIRE_OK(volumes.KeepHeld(kHeld));
  CHECK(Value(records.Read(kHeld.uuid)).volume.held_at > made);
}

TEST_CASE_METHOD(Fixture, "a held snapshot that is still being copied is removed as well") {
  REQUIRE_OK(Hold().status());
  now += absl::Hours(1);
  CHECK(Value(volumes.Repair(kHeld)));
  CHECK_FALSE(Exists());
  REQUIRE_OK(volumes.Map(kOrigin).status());
}

TEST_CASE_METHOD(Fixture, "a held snapshot whose volume was changed is removed, and made again") {
  REQUIRE_OK(Hold().status());
  machine.volumes.at(kOrigin.uuid)->now.image->content.data = "new";
  if (GENERATE(true, false)) {
    CHECK(Value(volumes.Repair(kHeld)));
  } else {
    CHECK_FAILS(Hold().status(), kFailedPrecondition, "was changed");
  }
  CHECK_FALSE(Exists());
  REQUIRE_OK(Hold().status());
}

TEST_CASE_METHOD(Fixture, "a snapshot of the CO stays, however long nothing asks for it") {
  VolumeSpec spec = HeldSpec();
  spec.hold = false;
  CHECK_FALSE(Value(volumes.Create(spec, kHeld, 512)).volume.held());
  Finish();
  REQUIRE_OK(volumes.KeepHeld(kHeld));
  now += absl::Hours(1000);
  CHECK_FALSE(volumes.FindLeftover(kHeld.uuid));
  CHECK_FAILS(Hold().status(), kAlreadyExists, "purpose");
}

TEST_CASE_METHOD(Fixture, "a kill at any time leaves a held snapshot or nothing") {
  REQUIRE_OK(Hold().status());
  Finish();
  listed.clear();
  REQUIRE_OK(volumes.Count(kHeld.uuid));
  CHECK(Value(volumes.GetContent(kHeld)).volume.held());
  VolumeRecord record = Value(records.Read(kHeld.uuid));
  CHECK(Value(DecodeRecord(EncodeRecord(record))) == record);
  record.volume.role = VolumeRole::kVolume;
  CHECK_FAILS(DecodeRecord(EncodeRecord(record)).status(), kInternal, "is held");
}

TEST_CASE("no snapshot of the CO has the id of a held one") {
  const test::MemoryPool pool("p", "n");
  const ContentSource source{VolumeRole::kVolume, kOrigin};
  const VolumeId held = pool.IdForHold(source, "copy");
  CHECK(held == pool.IdForHold(source, "copy"));
  CHECK(held != pool.IdForHold(source, "other"));
  CHECK(held != pool.IdForHold({VolumeRole::kVolume, kHeld}, "copy"));
  CHECK(held != pool.IdForSnapshotName("copy"));
  CHECK(held != pool.IdForSnapshotName(source.ToString() + " copy"));
}

}  // namespace volume_hold_test
}  // namespace holdfast::pool
