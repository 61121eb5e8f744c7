// SPDX-License-Identifier: Apache-2.0
// Volumes whose bytes come from another pool: what callers see meanwhile, and what becomes of a
// volume that is not wanted any more.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "pool/volume_lifecycle.h"
#include "simulator/memory_volumes.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace volume_arrival_test {

using simulator::Fault;
using test::Value;

constexpr Bytes kSize = 4 * kVolumeGranularity;
constexpr char kFilesystem[] = "7c0e4f3e-0000-4000-8000-000000000002";
constexpr char kVersion[] = "1";
const VolumeId kCopy{"p", "n", "cccc0000-0000-4000-8000-000000000001"};
const ContentSource kSource{VolumeRole::kSnapshot,
                            {"p", "other", "bbbb0000-0000-4000-8000-000000000001"}};

absl::Time now = absl::UnixEpoch() + absl::Hours(24 * 365 * 50);

class NoFaults final : public simulator::Faults {
 public:
  Fault At(const char* name, const std::string&) override {
    return name == failing ? Fault::kError : Fault::kNone;
  }
  void After(Fault) override {}
  std::string failing;
};

struct Fixture {
  Fixture() { machine.total = 64 * kVolumeGranularity; }

  static VolumeSpec Spec(const std::string& version = kVersion) {
    VolumeSpec spec;
    spec.name = "copy";
    spec.filesystem = "ext4";
    spec.capacity.required = 2 * kSize;
    spec.source = kSource;
    spec.content = Content{.capacity_bytes = kSize,
                           .data_bytes = kSize / 2,
                           .sector_size = 4096,
                           .filesystem = "ext4",
                           .inherited_uuids = {kFilesystem},
                           .version = version};
    return spec;
  }
  absl::Status Create(const VolumeSpec& spec = Spec()) {
    return volumes.Create(spec, kCopy, 512).status();
  }
  void Begin() { CHECK_FAILS(Create(), kAborted, "is being copied"); }
  std::string Arrival(const std::string& version = kVersion) {
    return Value(volumes.GetArriving(kCopy, version)).copy->arrival;
  }
  [[nodiscard]] bool Exists() const { return machine.volumes.contains(kCopy.uuid); }

  simulator::Machine machine;
  Ledger ledger{
      SpacePolicy{.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1}};
  std::set<std::string> listed;
  NoFaults faults;
  simulator::MemoryRecords records{machine, listed, faults};
  simulator::MemoryBackend backend{machine, faults};
  simulator::MemorySpace space{machine, ledger};
  VolumeLifecycle volumes{records, backend, space, [] { return now; }};
};

TEST_CASE_METHOD(Fixture, "a volume whose bytes are on their way is there when they have come") {
  Begin();
  CHECK_FAILS(volumes.Get(kCopy).status(), kNotFound, "there is no volume");
  CHECK(ledger.Provisioned(Provisioning::kThick) == 2 * kSize);
  CHECK(Value(volumes.GetArriving(kCopy, kVersion)).copy->copied_to == 0);
  REQUIRE_OK(volumes.NoteArrived(kCopy, Arrival(), kSize / 4));
  CHECK_FAILS(Create(), kAborted, "is being copied");
  CHECK(Value(volumes.GetArriving(kCopy, kVersion)).copy->copied_to == kSize / 4);
  REQUIRE_OK(volumes.FinishArrival(kCopy, Arrival()));
  REQUIRE_OK(Create());
  const VolumeRecord made = Value(volumes.Get(kCopy));
  CHECK(made.volume.state == VolumeState::kInherited);
  CHECK(made.volume.capacity_bytes == 2 * kSize);
  CHECK(made.volume.source == kSource);
  CHECK(made.sector_size == 4096);
  CHECK_FALSE(made.copy);
  // Nothing of the source is needed any more.
  VolumeSpec without = Spec();
  without.content.reset();
  REQUIRE_OK(Create(without));
}

TEST_CASE_METHOD(Fixture, "bytes that nobody waits for are refused") {
  const auto refused = [&](const absl::Status& status) {
    CHECK_FAILS(status, kAborted, "is not waiting for these bytes");
  };
  refused(volumes.GetArriving(kCopy, kVersion).status());
  Begin();
  refused(volumes.GetArriving(kCopy, "2").status());
  const std::string arrival = Arrival();
  REQUIRE_OK(volumes.Delete(kCopy));
  CHECK_FALSE(Exists());
  CHECK(ledger.Provisioned(Provisioning::kThick) == 0);
  refused(volumes.NoteArrived(kCopy, arrival, kSize));
  refused(volumes.FinishArrival(kCopy, arrival));
  Begin();
  REQUIRE_OK(volumes.FinishArrival(kCopy, Arrival()));
  refused(volumes.NoteArrived(kCopy, arrival, 0));
}

TEST_CASE_METHOD(Fixture, "bytes for an earlier volume do not complete the one that replaced it") {
  Begin();
  const std::string earlier = Arrival();
  REQUIRE_OK(volumes.Delete(kCopy));
  Begin();
  CHECK(Arrival() != earlier);
  CHECK_FAILS(volumes.NoteArrived(kCopy, earlier, kSize), kAborted, "is not waiting");
  CHECK_FAILS(volumes.FinishArrival(kCopy, earlier), kAborted, "is not waiting");
  CHECK(Value(volumes.GetArriving(kCopy, kVersion)).copy->copied_to == 0);
}

TEST_CASE_METHOD(Fixture, "another snapshot of the same name begins from the start") {
  Begin();
  REQUIRE_OK(volumes.NoteArrived(kCopy, Arrival(), kSize / 2));
  CHECK_FAILS(Create(Spec("2")), kAborted, "is another one than before");
  CHECK_FALSE(Exists());
  CHECK_FAILS(Create(Spec("2")), kAborted, "is being copied");
  CHECK(Value(volumes.GetArriving(kCopy, "2")).copy->copied_to == 0);
}

TEST_CASE_METHOD(Fixture, "complete bytes whose record was not written are not lost") {
  Begin();
  faults.failing = "replace record";
  CHECK_FALSE(volumes.FinishArrival(kCopy, Arrival()).ok());
  faults.failing.clear();
  SECTION("by the repeated call") { REQUIRE_OK(Create()); }
  SECTION("by the reconciler") { CHECK(Value(volumes.Repair(kCopy))); }
  CHECK(Value(volumes.Get(kCopy)).volume.state == VolumeState::kInherited);
}

TEST_CASE_METHOD(Fixture, "a volume that no call asks for is removed after an hour") {
  Begin();
  now += absl::Minutes(59);
  CHECK_FALSE(volumes.FindLeftover(kCopy.uuid));
  CHECK_FALSE(Value(volumes.Repair(kCopy)));
  SECTION("after the first call") { now += absl::Minutes(1); }
  SECTION("after the last call") {
    Begin();
    now += absl::Minutes(59);
    CHECK_FALSE(volumes.FindLeftover(kCopy.uuid));
    now += absl::Minutes(1);
  }
  SECTION("after the last bytes") {
    REQUIRE_OK(volumes.NoteArrived(kCopy, Arrival(), kSize / 2));
    now += absl::Minutes(59);
    CHECK_FALSE(volumes.FindLeftover(kCopy.uuid));
    now += absl::Minutes(1);
  }
  CHECK(volumes.FindLeftover(kCopy.uuid) == LeftoverKind::kUnfinishedCopy);
  CHECK(Value(volumes.Repair(kCopy)));
  CHECK_FALSE(Exists());
  CHECK(ledger.Provisioned(Provisioning::kThick) == 0);
}

TEST_CASE_METHOD(Fixture, "a source that cannot become the volume is refused before anything") {
  VolumeSpec spec = Spec();
  SECTION("another filesystem") {
    spec.filesystem = "xfs";
    CHECK_FAILS(Create(spec), kInvalidArgument, "holds ext4");
  }
  SECTION("larger than the limit") {
    spec.capacity = {.required = 0, .limit = kSize / 2};
    CHECK_FAILS(Create(spec), kOutOfRange, "");
  }
  SECTION("no room") {
    spec.capacity.required = 100 * kVolumeGranularity;
    CHECK_FAILS(Create(spec), kResourceExhausted, "");
  }
  CHECK_FALSE(Exists());
}

}  // namespace volume_arrival_test
}  // namespace holdfast::pool
