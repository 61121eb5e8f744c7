// SPDX-License-Identifier: Apache-2.0
// Snapshots and copies in the volume state machine: what they inherit, what they become, and what a
// kill leaves of them.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "pool/volume_lifecycle.h"
#include "simulator/memory_volumes.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace volume_copy_test {

using simulator::Fault;
using test::Value;

constexpr Bytes kSize = 2 * kVolumeGranularity;
constexpr char kFilesystem[] = "7c0e4f3e-0000-4000-8000-000000000002";
const VolumeId kOrigin{"p", "n", "aaaa0000-0000-4000-8000-000000000001"};
const VolumeId kSnapshot{"p", "n", "bbbb0000-0000-4000-8000-000000000001"};
const VolumeId kCopy{"p", "n", "cccc0000-0000-4000-8000-000000000001"};

class NoFaults final : public simulator::Faults {
 public:
  Fault At(const char* name, const std::string&) override {
    return name == failing ? Fault::kError : Fault::kNone;
  }
  void After(Fault) override {}
  std::string failing;
};

struct Fixture {
  Fixture() {
    machine.total = 64 * kVolumeGranularity;
    REQUIRE_OK(volumes.Create(OriginSpec(), kOrigin, 4096).status());
  }

  static VolumeSpec OriginSpec() {
    VolumeSpec spec;
    spec.name = "origin";
    spec.capacity.required = kSize;
    spec.filesystem = "ext4";
    return spec;
  }
  static VolumeSpec SnapshotSpec() {
    VolumeSpec spec;
    spec.role = VolumeRole::kSnapshot;
    spec.name = "snap";
    spec.source = ContentSource{VolumeRole::kVolume, kOrigin};
    return spec;
  }
  static VolumeSpec CopySpec(Bytes size = 0) {
    VolumeSpec spec;
    spec.name = "copy";
    spec.capacity.required = size;
    spec.filesystem = "ext4";
    spec.source = ContentSource{VolumeRole::kSnapshot, kSnapshot};
    return spec;
  }
  void Format() {
    REQUIRE_OK(volumes.StartFormatting(kOrigin, kFilesystem));
    Image(kOrigin) = {.filesystem = kFilesystem, .complete = true, .data = "old", .end = 100};
    REQUIRE_OK(volumes.FinishFormatting(kOrigin));
  }
  simulator::Content& Image(const VolumeId& id) {
    return machine.volumes.at(id.uuid)->now.image->content;
  }
  absl::StatusOr<VolumeRecord> Cut() { return volumes.Create(SnapshotSpec(), kSnapshot, 512); }
  absl::StatusOr<VolumeRecord> Restore(const VolumeSpec& spec = CopySpec()) {
    return volumes.Create(spec, kCopy, 512);
  }

  simulator::Machine machine;
  Ledger ledger{
      SpacePolicy{.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1}};
  std::set<std::string> listed;
  NoFaults faults;
  simulator::MemoryRecords records{machine, listed, faults};
  simulator::MemoryBackend backend{machine, faults};
  simulator::MemorySpace space{machine, ledger};
  VolumeLifecycle volumes{records, backend, space};
};

TEST_CASE_METHOD(Fixture, "a snapshot keeps the bytes and the properties of its volume") {
  Format();
  const Volume snapshot = Value(Cut()).volume;
  CHECK(snapshot.role == VolumeRole::kSnapshot);
  CHECK(snapshot.state == VolumeState::kReady);
  CHECK(snapshot.capacity_bytes == kSize);
  CHECK(snapshot.inherited_uuids == std::vector<std::string>{kFilesystem});
  CHECK(Value(volumes.Get(kSnapshot, VolumeRole::kSnapshot)).sector_size == 4096);
  Image(kOrigin).data = "new";
  CHECK(Image(kSnapshot).data == "old");
  CHECK(Value(Cut()).volume == snapshot);  // repeated
}

TEST_CASE_METHOD(Fixture, "a snapshot is no volume, and a volume no snapshot") {
  REQUIRE_OK(Cut().status());
  CHECK_FAILS(volumes.Get(kSnapshot).status(), kNotFound, "there is no volume");
  CHECK_FAILS(volumes.Map(kSnapshot).status(), kNotFound, "there is no volume");
  CHECK_FAILS(volumes.Grow(kSnapshot, 2 * kSize, 0).status(), kNotFound, "there is no volume");
  CHECK_FAILS(volumes.Get(kOrigin, VolumeRole::kSnapshot).status(), kNotFound, "snapshot 's:p:n:");
  REQUIRE_OK(volumes.Delete(kSnapshot));
  REQUIRE_OK(volumes.Delete(kOrigin, VolumeRole::kSnapshot));
  CHECK(volumes.Get(kSnapshot, VolumeRole::kSnapshot).ok());
  CHECK(volumes.Get(kOrigin).ok());
}

TEST_CASE_METHOD(Fixture, "a restored filesystem gets a UUID of its own and is never formatted") {
  Format();
  REQUIRE_OK(Cut().status());
  const Volume copy = Value(Restore()).volume;
  CHECK(copy.state == VolumeState::kInherited);
  CHECK(copy.filesystem_uuid != kFilesystem);
  CHECK(copy.inherited_uuids == std::vector<std::string>{kFilesystem});
  CHECK_FAILS(volumes.StartFormatting(kCopy, kFilesystem), kFailedPrecondition,
              "never formatted again");
  CHECK_FAILS(volumes.Zero(kCopy), kFailedPrecondition, "must not be changed");
  REQUIRE_OK(volumes.FinishAdoption(kCopy));
  CHECK(Value(volumes.Get(kCopy)).volume.state == VolumeState::kFormatted);
  CHECK(Value(volumes.FormattedUuid(kCopy)) == copy.filesystem_uuid);
}

TEST_CASE_METHOD(Fixture, "a copy of what was never formatted is formatted like any volume") {
  REQUIRE_OK(Cut().status());
  CHECK(Value(Restore()).volume.state == VolumeState::kReady);
}

TEST_CASE_METHOD(Fixture, "a copy of a copy that was never staged may have either UUID") {
  Format();
  REQUIRE_OK(Cut().status());
  const std::string own = Value(Restore()).volume.filesystem_uuid;
  VolumeSpec spec = CopySpec();
  spec.name = "second";
  spec.source = ContentSource{VolumeRole::kVolume, kCopy};
  const VolumeId second{"p", "n", "dddd0000-0000-4000-8000-000000000001"};
  const Volume made = Value(volumes.Create(spec, second, 512)).volume;
  CHECK(made.inherited_uuids == std::vector<std::string>{kFilesystem, own});
}

TEST_CASE_METHOD(Fixture, "a copy is at least as large as its source") {
  REQUIRE_OK(Cut().status());
  SECTION("the same without a wish") { CHECK(Value(Restore()).volume.capacity_bytes == kSize); }
  SECTION("the same when less is wanted") {
    CHECK(Value(Restore(CopySpec(kVolumeGranularity))).volume.capacity_bytes == kSize);
  }
  SECTION("larger") {
    CHECK(Value(Restore(CopySpec(2 * kSize))).volume.capacity_bytes == 2 * kSize);
  }
  SECTION("never less") {
    VolumeSpec spec = CopySpec();
    spec.capacity.limit = kVolumeGranularity;
    CHECK_FAILS(Restore(spec).status(), kOutOfRange, "smallest size");
  }
}

TEST_CASE_METHOD(Fixture, "what a source cannot become is refused") {
  Format();
  REQUIRE_OK(Cut().status());
  SECTION("another filesystem") {
    VolumeSpec spec = CopySpec();
    spec.filesystem = "xfs";
    CHECK_FAILS(Restore(spec).status(), kInvalidArgument, "holds ext4, and xfs is requested");
  }
  SECTION("raw block is possible") {
    VolumeSpec spec = CopySpec();
    spec.access_type = AccessType::kBlock;
    spec.filesystem.clear();
    CHECK(Value(Restore(spec)).volume.state == VolumeState::kReady);
  }
  SECTION("a source that is not there") {
    REQUIRE_OK(volumes.Delete(kSnapshot, VolumeRole::kSnapshot));
    CHECK_FAILS(Restore().status(), kNotFound, "there is no snapshot");
  }
  SECTION("another source under the same name") {
    REQUIRE_OK(Restore().status());
    VolumeSpec spec = CopySpec();
    spec.source = ContentSource{VolumeRole::kVolume, kOrigin};
    CHECK_FAILS(Restore(spec).status(), kAlreadyExists, "another content source");
  }
}

TEST_CASE_METHOD(Fixture, "origin, snapshot and copy are deleted in any order") {
  Format();
  REQUIRE_OK(Cut().status());
  REQUIRE_OK(Restore().status());
  const auto origin = [&] { return volumes.Delete(kOrigin); };
  const auto snapshot = [&] { return volumes.Delete(kSnapshot, VolumeRole::kSnapshot); };
  REQUIRE_OK(GENERATE(true, false) ? origin() : snapshot());
  CHECK(Image(kCopy).data == "old");
  REQUIRE_OK(origin());
  REQUIRE_OK(snapshot());
  REQUIRE_OK(volumes.Delete(kCopy));
  CHECK(ledger.Provisioned(Provisioning::kThick) == 0);
  CHECK(machine.volumes.empty());
}

TEST_CASE_METHOD(Fixture, "a copy that was cut short is removed, data and all") {
  Format();
  REQUIRE_OK(Cut().status());
  faults.failing = "mark copied";
  CHECK_FALSE(Restore().ok());
  faults.failing.clear();
  CHECK_FALSE(machine.volumes.contains(kCopy.uuid));
  CHECK(ledger.Provisioned(Provisioning::kThick) == 2 * kSize);
}

TEST_CASE_METHOD(Fixture, "a copy whose last record fails is undone, mark and all") {
  Format();
  REQUIRE_OK(Cut().status());
  faults.failing = "replace record";
  const absl::Status failed = Restore().status();
  faults.failing.clear();
  CHECK_FAILS(failed, kInternal, "replace record");
  CHECK_FALSE(machine.volumes.contains(kCopy.uuid));
  CHECK(ledger.Provisioned(Provisioning::kThick) == 2 * kSize);
}

TEST_CASE_METHOD(Fixture, "a complete copy whose record was not written yet is completed") {
  Format();
  REQUIRE_OK(Cut().status());
  const VolumeRecord complete = Value(Restore());
  VolumeRecord unfinished = complete;
  unfinished.volume.state = VolumeState::kAllocating;
  const auto forget = [&] { machine.volumes.at(kCopy.uuid)->now.record = unfinished; };
  forget();
  CHECK(volumes.FindLeftover(kCopy.uuid) == LeftoverKind::kUnfinishedCreation);
  CHECK(Value(volumes.Repair(kCopy)));
  CHECK(Value(volumes.Get(kCopy)).volume.state == complete.volume.state);
  forget();
  CHECK(Value(Restore()).volume.state == complete.volume.state);
  CHECK(Image(kCopy).data == "old");
}

TEST_CASE_METHOD(Fixture, "an old record of a complete copy removes nothing") {
  Format();
  REQUIRE_OK(Cut().status());
  VolumeRecord unfinished = Value(Restore());
  unfinished.volume.state = VolumeState::kAllocating;
  machine.volumes.at(kCopy.uuid)->now.record = unfinished;
  CHECK_FAILS(volumes.Delete(kCopy), kFailedPrecondition, "older than the image");
  CHECK(Image(kCopy).data == "old");
}

TEST_CASE_METHOD(Fixture, "a thick copy gets storage of its own, a thin one goes on sharing") {
  REQUIRE_OK(volumes.Create(SnapshotSpec(), kSnapshot, 4096).status());
  CHECK(volumes.FindLeftover(kSnapshot.uuid) == LeftoverKind::kSharedStorage);
  faults.failing = "unshare";
  CHECK_FAILS(volumes.Repair(kSnapshot), kInternal, "unshare");
  faults.failing.clear();
  CHECK(volumes.FindLeftover(kSnapshot.uuid) == LeftoverKind::kSharedStorage);
  CHECK(Value(volumes.Repair(kSnapshot)));
  CHECK_FALSE(volumes.FindLeftover(kSnapshot.uuid));
  VolumeSpec thin = CopySpec();
  thin.provisioning = Provisioning::kThin;
  REQUIRE_OK(volumes.Create(thin, kCopy, 4096).status());
  CHECK_FALSE(volumes.FindLeftover(kCopy.uuid));
}

}  // namespace volume_copy_test
}  // namespace holdfast::pool
