// SPDX-License-Identifier: Apache-2.0
// Members of group snapshots in the volume state machine, and what a kill leaves of them.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "pool/group_member.h"
#include "simulator/memory_volumes.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace volume_group_test {

using simulator::Fault;
using test::Value;

constexpr char kGroup[] = "g:0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";
const VolumeId kOrigin{"p", "n", "aaaa0000-0000-4000-8000-000000000001"};
const VolumeId kMember{"p", "n", "bbbb0000-0000-4000-8000-000000000001"};

class NoFaults final : public simulator::Faults {
 public:
  Fault At(const char* name, const std::string&) override {
    return name == failing ? Fault::kError : Fault::kNone;
  }
  void After(Fault) override {}
  std::string failing;
};

class Backend final : public simulator::MemoryBackend {
 public:
  using MemoryBackend::MemoryBackend;
  absl::Status RequireCutsTogether() override { return can_cut; }
  absl::StatusOr<Held> HoldWriters(const VolumeRecord&) override { return Held{}; }
  absl::Status PrepareCut(const VolumeRecord&, const VolumeRecord&) override {
    return absl::OkStatus();
  }
  absl::Status CutHeld(const VolumeRecord& source, const VolumeRecord& record,
                       const Held&) override {
    return Copy(source, record).status();
  }
  absl::StatusOr<std::string> FinishCut(const VolumeRecord&, const VolumeRecord& record) override {
    RETURN_IF_ERROR(Sync(record));
    return std::string();
  }
  absl::Status can_cut;
};

struct Fixture {
  Fixture() {
    machine.total = 64 * kVolumeGranularity;
    VolumeSpec origin;
    origin.name = "origin";
    origin.capacity.required = 2 * kVolumeGranularity;
    origin.filesystem = "ext4";
    REQUIRE_OK(volumes.Create(origin, kOrigin, 4096).status());
  }
  static VolumeSpec Spec() {
    VolumeSpec spec;
    spec.role = VolumeRole::kSnapshot;
    spec.name = GroupMemberName(kGroup, kOrigin.uuid);
    spec.source = ContentSource{VolumeRole::kVolume, kOrigin};
    spec.group = SnapshotGroup{.id = kGroup, .members = {ToSnapshotId(kMember)}};
    return spec;
  }
  // Up to the step "begin", "cut" or "seal"; what a kill right after it leaves.
  void CutUntil(const std::string& step) {
    GroupMember member(volumes, backend, Value(volumes.BeginMember(Spec(), kMember)));
    if (step == "begin") return;
    REQUIRE_OK(member.Prepare());
    CHECK(Value(member.Hold()).held);
    REQUIRE_OK(member.Cut());
    if (step == "cut") return;
    REQUIRE_OK(member.Release());
    REQUIRE_OK(member.Seal());
  }
  VolumeState StateOfMember() { return Value(records.Read(kMember.uuid)).volume.state; }
  bool IsThere() { return volumes.Get(kMember, VolumeRole::kSnapshot).ok(); }
  Bytes Reserved() { return ledger.ProvisionedTo(kMember.uuid, Provisioning::kThick); }
  bool IsGone() {
    return absl::IsNotFound(records.Read(kMember.uuid).status()) &&
           !machine.volumes.contains(kMember.uuid) && Reserved() == 0;
  }

  simulator::Machine machine;
  Ledger ledger{
      SpacePolicy{.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1}};
  std::set<std::string> listed;
  NoFaults faults;
  simulator::MemoryRecords records{machine, listed, faults};
  Backend backend{machine, faults};
  simulator::MemorySpace space{machine, ledger};
  VolumeLifecycle volumes{records, backend, space};
};

TEST_CASE_METHOD(Fixture, "a member is undecided until it is kept") {
  CutUntil("seal");
  CHECK(StateOfMember() == VolumeState::kCut);
  CHECK_FALSE(IsThere());
  CHECK_FALSE(listed.contains(kMember.uuid));
  CHECK(volumes.FindLeftover(kMember.uuid) == LeftoverKind::kUndecidedSnapshot);
  CHECK_FALSE(Value(volumes.Repair(kMember)));  // by itself it cannot know
  CHECK(Value(volumes.EndMember(kMember, kGroup, /*keep=*/true)));
  CHECK(IsThere());
  CHECK(listed.contains(kMember.uuid));
  const Volume snapshot = Value(volumes.Get(kMember, VolumeRole::kSnapshot)).volume;
  CHECK(snapshot.group == Spec().group);
  CHECK(Value(volumes.EndMember(kMember, kGroup, /*keep=*/true)));
  CHECK(Value(volumes.EndMember(kMember, kGroup, /*keep=*/false)));  // once kept it stays
  CHECK(IsThere());
  REQUIRE_OK(volumes.Delete(kMember, VolumeRole::kSnapshot));
  CHECK(IsGone());
}

TEST_CASE_METHOD(Fixture, "a member that is not kept is removed") {
  for (const std::string step : {"begin", "cut", "seal"}) {
    CAPTURE(step);
    CutUntil(step);
    CHECK_FALSE(Value(volumes.EndMember(kMember, kGroup, /*keep=*/false)));
    CHECK(IsGone());
    CHECK_FALSE(Value(volumes.EndMember(kMember, kGroup, /*keep=*/true)));
    CHECK(IsGone());
  }
}

TEST_CASE_METHOD(Fixture, "a member of another group is left alone") {
  constexpr char kOther[] = "g:0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0002";
  CutUntil("seal");
  CHECK_FALSE(Value(volumes.EndMember(kMember, kOther, /*keep=*/false)));
  CHECK_FALSE(Value(volumes.EndMember(kMember, kOther, /*keep=*/true)));
  CHECK(StateOfMember() == VolumeState::kCut);
}

TEST_CASE_METHOD(Fixture, "what is not cut yet is never kept, and removed without a question") {
  for (const std::string step : {"begin", "cut"}) {
    CAPTURE(step);
    CutUntil(step);
    CHECK(volumes.FindLeftover(kMember.uuid) == LeftoverKind::kUnfinishedCreation);
    CHECK_FALSE(Value(volumes.EndMember(kMember, kGroup, /*keep=*/true)));
    CHECK(IsGone());
    CutUntil(step);
    CHECK(Value(volumes.Repair(kMember)));
    CHECK(IsGone());
  }
}

TEST_CASE_METHOD(Fixture, "a member whose copy is marked was kept, whatever its record says") {
  CutUntil("seal");
  faults.failing = "replace record";
  CHECK_FALSE(volumes.EndMember(kMember, kGroup, /*keep=*/true).ok());
  faults.failing = "";
  REQUIRE(StateOfMember() == VolumeState::kCut);
  SECTION("for the reconciler") { CHECK(Value(volumes.Repair(kMember))); }
  SECTION("for the coordinator") {
    CHECK(Value(volumes.EndMember(kMember, kGroup, /*keep=*/false)));
  }
  CHECK(IsThere());
}

TEST_CASE_METHOD(Fixture, "calls about single snapshots do not touch an undecided one") {
  CutUntil("seal");
  VolumeSpec single = Spec();
  single.group.reset();
  CHECK_FAILS(volumes.Create(single, kMember, 512), kAlreadyExists, "another group snapshot");
  REQUIRE_OK(volumes.Delete(kMember, VolumeRole::kSnapshot));
  CHECK(StateOfMember() == VolumeState::kCut);
  CHECK_FAILS(volumes.BeginMember(Spec(), kMember).status(), kAborted, "there already");
  CHECK(Value(volumes.EndMember(kMember, kGroup, /*keep=*/true)));
  CHECK_FAILS(volumes.Create(single, kMember, 512), kAlreadyExists, "another group snapshot");
}

TEST_CASE_METHOD(Fixture, "room is kept for an undecided member, also after a start") {
  CutUntil("seal");
  const Bytes before = Reserved();
  CHECK(before > 0);
  ledger.Remove(kMember.uuid);
  REQUIRE_OK(volumes.Count(kMember.uuid));
  CHECK(Reserved() == before);
}

TEST_CASE_METHOD(Fixture,
                 "a pool that cannot cut several volumes refuses before anything is made") {
  backend.can_cut = FailedPrecondition("not here");
  CHECK_FAILS(volumes.BeginMember(Spec(), kMember).status(), kFailedPrecondition, "not here");
  CHECK(IsGone());
}

TEST_CASE_METHOD(Fixture, "a member that cannot be sealed is undone") {
  GroupMember member(volumes, backend, Value(volumes.BeginMember(Spec(), kMember)));
  REQUIRE_OK(member.Cut());
  faults.failing = "replace record";
  const absl::Status sealed = member.Seal();
  CHECK_FALSE(sealed.ok());
  faults.failing = "";
  CHECK(member.Undo(sealed) == sealed);
  CHECK(IsGone());
}

}  // namespace volume_group_test
}  // namespace holdfast::pool
