// SPDX-License-Identifier: Apache-2.0
// Copies that are made in steps: what callers see meanwhile, what a kill leaves, and what the
// source may not do.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "pool/volume_lifecycle.h"
#include "simulator/memory_volumes.h"
#include "support/outcome.h"
#include "support/stepping_backend.h"

namespace holdfast::pool {
namespace volume_copying_test {

using simulator::Fault;
using test::Value;

constexpr Bytes kStep = test::SteppingBackend::kStep;
constexpr Bytes kSize = 4 * kStep;
constexpr char kFilesystem[] = "7c0e4f3e-0000-4000-8000-000000000002";
const VolumeId kOrigin{"p", "n", "aaaa0000-0000-4000-8000-000000000001"};
const VolumeId kSnapshot{"p", "n", "bbbb0000-0000-4000-8000-000000000001"};
const VolumeId kCopy{"p", "n", "cccc0000-0000-4000-8000-000000000001"};

class Failing final : public simulator::Faults {
 public:
  Fault At(const char* name, const std::string&) override {
    return name == failing ? Fault::kError : Fault::kNone;
  }
  void After(Fault) override {}
  std::string failing;
};

struct Fixture {
  Fixture() {
    machine.total = 64 * kStep;
    REQUIRE_OK(volumes.Create(OriginSpec(), kOrigin, 4096).status());
    REQUIRE_OK(volumes.StartFormatting(kOrigin, kFilesystem));
    Content(kOrigin) = {.filesystem = kFilesystem, .complete = true, .data = "old", .end = 100};
    REQUIRE_OK(volumes.FinishFormatting(kOrigin));
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
  static VolumeSpec CopySpec(const ContentSource& source = {VolumeRole::kSnapshot, kSnapshot}) {
    VolumeSpec spec;
    spec.name = "copy";
    spec.filesystem = "ext4";
    spec.source = source;
    return spec;
  }
  simulator::Content& Content(const VolumeId& id) {
    return machine.volumes.at(id.uuid)->now.image->content;
  }
  absl::StatusOr<VolumeRecord> Cut() { return volumes.Create(SnapshotSpec(), kSnapshot, 512); }
  absl::StatusOr<VolumeRecord> Restore(const VolumeSpec& spec = CopySpec()) {
    return volumes.Create(spec, kCopy, 512);
  }
  VolumeState StateOf(const VolumeId& id) {
    return machine.volumes.at(id.uuid)->now.record->volume.state;
  }
  void Finish(const VolumeId& id) {
    for (int step = 0; step < 10 && StateOf(id) == VolumeState::kCopying; ++step) {
      REQUIRE_OK(volumes.Repair(id).status());
    }
    REQUIRE(StateOf(id) != VolumeState::kCopying);
  }
  // A kill, and the start of the next process.
  void Restart() {
    listed.clear();
    for (const auto& [uuid, directory] : machine.volumes) REQUIRE_OK(volumes.Count(uuid));
  }

  simulator::Machine machine;
  Ledger ledger{
      SpacePolicy{.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1}};
  std::set<std::string> listed;
  Failing faults;
  simulator::MemoryRecords records{machine, listed, faults};
  test::SteppingBackend backend{machine, faults};
  simulator::MemorySpace space{machine, ledger};
  VolumeLifecycle volumes{records, backend, space};
};

TEST_CASE_METHOD(Fixture, "a snapshot is answered at once and copied in steps") {
  const VolumeRecord cut = Value(Cut());
  CHECK(cut.volume.state == VolumeState::kCopying);
  CHECK(cut.copy->copied_to == kStep);
  CHECK(volumes.FindLeftover(kSnapshot.uuid) == LeftoverKind::kUnfinishedCopy);
  CHECK_FALSE(Value(volumes.Repair(kSnapshot)));
  CHECK(Value(volumes.Get(kSnapshot, VolumeRole::kSnapshot)).copy->copied_to == 2 * kStep);
  CHECK(Value(Cut()).copy->copied_to == 3 * kStep);  // a repeated call takes a step, too
  CHECK(Value(volumes.Repair(kSnapshot)));
  const VolumeRecord done = Value(Cut());
  CHECK(done.volume.state == VolumeState::kReady);
  CHECK_FALSE(done.copy);
  CHECK(done.volume.created_at == cut.volume.created_at);
  CHECK(Content(kSnapshot).data == "old");
  CHECK(backend.starts == std::vector<Bytes>{0, 1, 2, 3});
}

TEST_CASE_METHOD(Fixture, "the room of a copy is reserved from the beginning") {
  REQUIRE_OK(Cut().status());
  CHECK(ledger.ProvisionedTo(kSnapshot.uuid, Provisioning::kThick) == 2 * kStep);
  Restart();
  CHECK(ledger.ProvisionedTo(kSnapshot.uuid, Provisioning::kThick) == 2 * kStep);
  REQUIRE_OK(volumes.Delete(kSnapshot, VolumeRole::kSnapshot));
  CHECK(ledger.ProvisionedTo(kSnapshot.uuid, Provisioning::kThick) != 2 * kStep);
}

TEST_CASE_METHOD(Fixture, "a source is neither mapped nor grown nor deleted while it is copied") {
  REQUIRE_OK(Cut().status());
  const auto restart = GENERATE(false, true);
  if (restart) Restart();
  CHECK_FAILS(volumes.Map(kOrigin).status(), kAborted, "at 4 KiB of 16 KiB");
  CHECK_FAILS(volumes.Grow(kOrigin, 2 * kSize, 0).status(), kAborted, "is being copied");
  CHECK_FAILS(volumes.Delete(kOrigin), kAborted, "is being copied");
  SECTION("until it is complete") { Finish(kSnapshot); }
  SECTION("until the snapshot is deleted") {
    REQUIRE_OK(volumes.Delete(kSnapshot, VolumeRole::kSnapshot));
    CHECK_FALSE(machine.volumes.contains(kSnapshot.uuid));
  }
  SECTION("until the copy is void") { Content(kOrigin).data = "new"; }
  REQUIRE_OK(volumes.Map(kOrigin).status());
  REQUIRE_OK(volumes.Grow(kOrigin, 2 * kSize, 0).status());
}

TEST_CASE_METHOD(Fixture, "a snapshot whose volume was changed never becomes ready") {
  REQUIRE_OK(Cut().status());
  Content(kOrigin).data = "new";
  CHECK_FAILS(volumes.Repair(kSnapshot), kFailedPrecondition, "was changed");
  CHECK_FAILS(Cut().status(), kFailedPrecondition, "was changed");
  CHECK(volumes.FindLeftover(kSnapshot.uuid) == LeftoverKind::kUnfinishedCopy);
  CHECK(StateOf(kSnapshot) == VolumeState::kCopying);
  REQUIRE_OK(volumes.Delete(kSnapshot, VolumeRole::kSnapshot));
}

TEST_CASE_METHOD(Fixture, "a volume whose source was changed is removed, with or without a call") {
  const VolumeSpec spec = CopySpec({VolumeRole::kVolume, kOrigin});
  REQUIRE(absl::IsAborted(Restore(spec).status()));
  Content(kOrigin).data = "new";
  if (GENERATE(true, false)) {
    CHECK(Value(volumes.Repair(kCopy)));
  } else {
    CHECK_FAILS(Restore(spec).status(), kFailedPrecondition, "was changed");
  }
  CHECK_FALSE(machine.volumes.contains(kCopy.uuid));
  CHECK(ledger.ProvisionedTo(kCopy.uuid, Provisioning::kThick) != kSize);
}

TEST_CASE_METHOD(Fixture, "a copy that needs no source any more outlives it") {
  backend.needs_source = false;
  const VolumeSpec spec = CopySpec({VolumeRole::kVolume, kOrigin});
  CHECK_FAILS(Restore(spec).status(), kAborted, "at 4 KiB of 16 KiB");
  listed.erase(kOrigin.uuid);
  machine.volumes.erase(kOrigin.uuid);
  Finish(kCopy);
  CHECK(Value(Restore(spec)).volume.state == VolumeState::kInherited);
}

TEST_CASE_METHOD(Fixture, "a snapshot that a failed call made is accounted by the next one") {
  REQUIRE_OK(Cut().status());
  Finish(kSnapshot);
  space.Release(kSnapshot.uuid);
  REQUIRE_OK(Cut().status());
  CHECK(ledger.ProvisionedTo(kSnapshot.uuid, Provisioning::kThick) > 0);
}

TEST_CASE_METHOD(Fixture, "a copy continues where it was after a kill") {
  REQUIRE_OK(Cut().status());
  REQUIRE_OK(volumes.Repair(kSnapshot).status());
  Restart();
  Finish(kSnapshot);
  CHECK(backend.starts == std::vector<Bytes>{0, 1, 2, 3});
  CHECK(Content(kSnapshot).data == "old");
}

TEST_CASE_METHOD(Fixture,
                 "a kill between the mark of a complete copy and its record loses nothing") {
  REQUIRE_OK(Cut().status());
  const VolumeRecord unfinished = *machine.volumes.at(kSnapshot.uuid)->now.record;
  Finish(kSnapshot);
  machine.volumes.at(kSnapshot.uuid)->now.record = unfinished;
  Restart();
  const auto steps = backend.starts.size();
  if (GENERATE(true, false)) {
    CHECK(Value(volumes.Repair(kSnapshot)));
  } else {
    CHECK(Value(Cut()).volume.state == VolumeState::kReady);
  }
  CHECK(StateOf(kSnapshot) == VolumeState::kReady);
  CHECK(backend.starts.size() == steps);
}

TEST_CASE_METHOD(Fixture, "a restored volume is returned when it is complete, and not before") {
  REQUIRE_OK(Cut().status());
  CHECK_FAILS(Restore().status(), kAborted, "is being copied");  // not ready to use
  CHECK_FALSE(machine.volumes.contains(kCopy.uuid));
  Finish(kSnapshot);
  CHECK_FAILS(Restore().status(), kAborted, "at 4 KiB of 16 KiB");
  CHECK_FAILS(volumes.Get(kCopy).status(), kNotFound, "there is no volume");
  CHECK_FAILS(volumes.Map(kCopy).status(), kNotFound, "there is no volume");
  CHECK_FAILS(volumes.Delete(kSnapshot, VolumeRole::kSnapshot), kAborted, "is being copied");
  CHECK(ledger.ProvisionedTo(kCopy.uuid, Provisioning::kThick) == kSize);
  Finish(kCopy);
  CHECK(Value(Restore()).volume.state == VolumeState::kInherited);
  CHECK(Content(kCopy).data == "old");
  REQUIRE_OK(volumes.Delete(kSnapshot, VolumeRole::kSnapshot));
}

TEST_CASE_METHOD(Fixture, "a clone is a copy of the volume as it was when it was first asked for") {
  const VolumeSpec spec = CopySpec({VolumeRole::kVolume, kOrigin});
  CHECK_FAILS(Restore(spec).status(), kAborted, "is being copied");
  CHECK_FAILS(volumes.Map(kOrigin).status(), kAborted, "is being copied");
  CHECK_FAILS(Restore(spec).status(), kAborted, "at 8 KiB");
  SECTION("it becomes complete") {
    Finish(kCopy);
    CHECK(Value(Restore(spec)).volume.state == VolumeState::kInherited);
  }
  SECTION("it is given up") { REQUIRE_OK(volumes.Delete(kCopy)); }
  REQUIRE_OK(volumes.Map(kOrigin).status());
}

TEST_CASE_METHOD(Fixture, "a final answer about a volume leaves nothing of it") {
  const VolumeSpec spec = CopySpec({VolumeRole::kVolume, kOrigin});
  SECTION("in the first step") {
    backend.failure = ResourceExhausted("no room");
    CHECK_FAILS(Restore(spec).status(), kResourceExhausted, "no room");
  }
  SECTION("in a later one") {
    REQUIRE(absl::IsAborted(Restore(spec).status()));
    backend.failure = ResourceExhausted("no room");
    CHECK_FAILS(Restore(spec).status(), kResourceExhausted, "no room");
  }
  SECTION("because its source was changed") {
    REQUIRE(absl::IsAborted(Restore(spec).status()));
    Content(kOrigin).data = "new";
    CHECK_FAILS(Restore(spec).status(), kFailedPrecondition, "was changed");
  }
  CHECK_FALSE(machine.volumes.contains(kCopy.uuid));
  CHECK(ledger.Provisioned(Provisioning::kThick) == kSize);
  REQUIRE_OK(volumes.Map(kOrigin).status());
}

TEST_CASE_METHOD(Fixture, "what can be repeated keeps what was copied") {
  const VolumeSpec spec = CopySpec({VolumeRole::kVolume, kOrigin});
  REQUIRE(absl::IsAborted(Restore(spec).status()));
  backend.failure = Unavailable("the disk hangs");
  CHECK_FAILS(Restore(spec).status(), kUnavailable, "hangs");
  CHECK_FAILS(volumes.Repair(kCopy), kUnavailable, "hangs");
  backend.failure = absl::OkStatus();
  Finish(kCopy);
  CHECK(backend.starts == std::vector<Bytes>{0, 1, 2, 3});
}

TEST_CASE_METHOD(Fixture, "a snapshot of which no caller has heard is undone when it fails") {
  backend.failure = Internal("cannot read");
  CHECK_FAILS(Cut().status(), kInternal, "cannot read");
  CHECK_FALSE(machine.volumes.contains(kSnapshot.uuid));
  backend.failure = absl::OkStatus();
  REQUIRE_OK(Cut().status());
  backend.failure = Internal("cannot read");
  CHECK_FAILS(Cut().status(), kInternal, "cannot read");
  CHECK(StateOf(kSnapshot) == VolumeState::kCopying);  // the caller knows this one
}

TEST_CASE_METHOD(Fixture, "an unfinished growth of the source is ended first") {
  faults.failing = "extend";
  CHECK_FALSE(volumes.Grow(kOrigin, 2 * kSize, 0).ok());
  faults.failing.clear();
  VolumeRecord& record = *machine.volumes.at(kOrigin.uuid)->now.record;
  record.grow_to_bytes = 2 * kSize;
  CHECK(Value(Cut()).volume.capacity_bytes == 2 * kSize);
  CHECK(machine.volumes.at(kOrigin.uuid)->now.record->grow_to_bytes == 0);
}

}  // namespace volume_copying_test
}  // namespace holdfast::pool
