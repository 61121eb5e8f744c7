// SPDX-License-Identifier: Apache-2.0
// Answers of the volume state machine when single steps fail; tests/simulator tries all orders.
#include "pool/volume_lifecycle.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "simulator/memory_volumes.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace volume_lifecycle_test {

using simulator::Fault;

constexpr char kUuid[] = "aaaa0000-0000-4000-8000-000000000001";
constexpr char kFirst[] = "7c0e4f3e-0000-4000-8000-000000000002";
constexpr char kSecond[] = "11111111-2222-4333-8444-555555555555";
const VolumeId kId{"p", "n", kUuid};

// Fails the named steps, with or without effect.
class Failing final : public simulator::Faults {
 public:
  Fault At(const char* name, const std::string&) override {
    if (without_effect.contains(name)) return Fault::kError;
    return with_effect.contains(name) ? Fault::kErrorDone : Fault::kNone;
  }
  void After(Fault) override {}

  std::set<std::string> without_effect;
  std::set<std::string> with_effect;
};

// A process on a disk.
struct Fixture {
  Fixture() { machine.total = 64 * kVolumeGranularity; }

  absl::Status Create(Bytes size = 2 * kVolumeGranularity) {
    VolumeSpec spec;
    spec.name = "a";
    spec.capacity.required = size;
    spec.provisioning = Provisioning::kThin;
    spec.filesystem = "ext4";
    return volumes.Create(spec, kId, 512).status();
  }
  Bytes Promised() { return ledger.Provisioned(Provisioning::kThin); }
  VolumeRecord& Record() { return *machine.volumes.at(kUuid)->now.record; }
  void Mend() { failing.without_effect.clear(), failing.with_effect.clear(); }

  simulator::Machine machine;
  Ledger ledger{
      SpacePolicy{.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1}};
  std::set<std::string> listed;
  Failing failing;
  simulator::MemoryRecords records{machine, listed, failing};
  simulator::MemoryBackend backend{machine, failing};
  simulator::MemorySpace space{machine, ledger};
  VolumeLifecycle volumes{records, backend, space};
};

TEST_CASE_METHOD(Fixture, "a deletion that fails after its bytes went leaves nothing accounted") {
  REQUIRE_OK(Create());
  failing.with_effect = {"discard"};
  CHECK_FAILS(volumes.Delete(kId), kInternal, "discard failed");
  Mend();
  CHECK(test::Value(volumes.Repair(kId)));
  CHECK(Promised() == 0);
  CHECK(listed.empty());
  CHECK(machine.trash.empty());
}

TEST_CASE_METHOD(Fixture, "a creation that could not be undone is accounted as it is recorded") {
  failing.without_effect = {"sync name", "unmap"};
  CHECK_FAILS(Create(), kUnavailable, "could not be removed yet: unmap failed");
  CHECK(Promised() == 2 * kVolumeGranularity);
  Mend();
  REQUIRE_OK(Create());
  CHECK(Promised() == 2 * kVolumeGranularity);
}

TEST_CASE_METHOD(Fixture, "a growth that fails after it was recorded is accounted, then finished") {
  REQUIRE_OK(Create());
  failing.with_effect = {"replace record"};
  CHECK_FAILS(volumes.Grow(kId, 4 * kVolumeGranularity, 0).status(), kInternal, "replace record");
  CHECK(Promised() == 4 * kVolumeGranularity);
  Mend();
  CHECK(volumes.FindLeftover(kUuid) == LeftoverKind::kUnfinishedGrowth);
  CHECK(test::Value(volumes.Repair(kId)));
  CHECK(Promised() == 4 * kVolumeGranularity);
  CHECK(test::Value(volumes.Get(kId)).volume.capacity_bytes == 4 * kVolumeGranularity);
}

TEST_CASE_METHOD(Fixture, "a growth without room is taken back as a whole") {
  REQUIRE_OK(Create());
  failing.without_effect = {"extend"};
  CHECK_FAILS(volumes.Grow(kId, 4 * kVolumeGranularity, 0).status(), kInternal, "extend failed");
  CHECK(Promised() == 2 * kVolumeGranularity);
  CHECK(Record().grow_to_bytes == 0);
  CHECK_FALSE(volumes.FindLeftover(kUuid));
}

TEST_CASE_METHOD(Fixture, "bytes that a device shows or that hold data are never cut off") {
  REQUIRE_OK(Create());
  Record().grow_to_bytes = 8 * kVolumeGranularity;  // restored with an old record
  simulator::Image& image = *machine.volumes.at(kUuid)->now.image;
  image.size = 4 * kVolumeGranularity;
  failing.without_effect = {"extend"};
  SECTION("a device shows them") {
    machine.devices[kUuid] = {
        .size = image.size, .directory = machine.volumes.at(kUuid), .open = true};
    CHECK_FAILS(volumes.Grow(kId, kVolumeGranularity, 0).status(), kUnavailable,
                "already shows the new bytes");
  }
  SECTION("they hold data") {
    image.content.end = image.size;
    CHECK_FAILS(volumes.Grow(kId, kVolumeGranularity, 0).status(), kUnavailable,
                "which are not cut off");
  }
  CHECK(image.size == 4 * kVolumeGranularity);
}

TEST_CASE_METHOD(Fixture, "what was marked is not zeroed, formatted, grown or deleted as unused") {
  REQUIRE_OK(Create());
  const VolumeRecord ready = Record();
  CHECK_FAILS(volumes.Zero(kId), kFailedPrecondition, "must not be changed");
  REQUIRE_OK(volumes.StartFormatting(kId, kFirst));
  const VolumeRecord formatting = Record();
  REQUIRE_OK(volumes.FinishFormatting(kId));
  CHECK_FAILS(volumes.StartFormatting(kId, kFirst), kFailedPrecondition,
              "is formatted: it is never formatted again");
  Record() = ready;
  CHECK_FAILS(volumes.StartFormatting(kId, kSecond), kFailedPrecondition,
              "it is never formatted again");
  Record() = formatting;
  CHECK_FAILS(volumes.Zero(kId), kFailedPrecondition, "it is not made blank");
  machine.volumes.at(kUuid)->now.image->size = 4 * kVolumeGranularity;
  CHECK_FAILS(volumes.Grow(kId, 8 * kVolumeGranularity, 0).status(), kFailedPrecondition,
              "the record is older than the image");
  Record().volume.state = VolumeState::kAllocating;
  CHECK_FAILS(volumes.Delete(kId), kFailedPrecondition, "its image was formatted");
  CHECK_FAILS(Create(), kFailedPrecondition, "its image was formatted");
}

TEST_CASE_METHOD(Fixture, "a growth of an old record is not finished on larger bytes") {
  REQUIRE_OK(Create());
  Record().grow_to_bytes = 4 * kVolumeGranularity;
  machine.volumes.at(kUuid)->now.image->size = 8 * kVolumeGranularity;
  CHECK_FAILS(volumes.Map(kId).status(), kFailedPrecondition, "the record is older than the image");
  CHECK(Record().volume.capacity_bytes == 2 * kVolumeGranularity);
  CHECK(Record().grow_to_bytes == 4 * kVolumeGranularity);
}

TEST_CASE_METHOD(Fixture, "a tombstone of another filesystem removes nothing") {
  REQUIRE_OK(Create());
  REQUIRE_OK(volumes.StartFormatting(kId, kFirst));
  REQUIRE_OK(volumes.FinishFormatting(kId));
  Record().volume.state = VolumeState::kDeleting;
  Record().volume.filesystem_uuid = kSecond;
  CHECK(volumes.FindLeftover(kUuid) == LeftoverKind::kDamagedVolume);
  CHECK_FAILS(volumes.Repair(kId), kFailedPrecondition, "to be deleted with another filesystem");
  CHECK(machine.volumes.contains(kUuid));
}

}  // namespace volume_lifecycle_test
}  // namespace holdfast::pool
