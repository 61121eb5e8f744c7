// SPDX-License-Identifier: Apache-2.0
// Every primitive of a snapshot and a restore that are copied in steps fails once, is killed once,
// or is where the power fails: a caller that repeats its calls gets what it wants, and nothing is
// left after it has deleted all of it.
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>

#include "pool/volume_lifecycle.h"
#include "support/outcome.h"
#include "support/stepping_backend.h"

namespace holdfast::pool {
namespace volume_copying_faults_test {

using simulator::Fault;

constexpr Bytes kSize = 3 * test::SteppingBackend::kStep;
constexpr char kFilesystem[] = "7c0e4f3e-0000-4000-8000-000000000002";
const VolumeId kOrigin{"p", "n", "aaaa0000-0000-4000-8000-000000000001"};
const VolumeId kSnapshot{"p", "n", "bbbb0000-0000-4000-8000-000000000001"};
const VolumeId kCopy{"p", "n", "cccc0000-0000-4000-8000-000000000001"};

class OneFault final : public simulator::Faults {
 public:
  Fault At(const char* name, const std::string&) override {
    if (!enabled || passed++ != at) return Fault::kNone;
    struck = name;
    return kind;
  }
  void After(Fault fault) override {
    const bool ends = fault == Fault::kKill || fault == Fault::kKillDone ||
                      fault == Fault::kPower || fault == Fault::kPowerDone;
    if (ends) throw simulator::Killed();
  }

  Fault kind = Fault::kNone;
  int at = 0;
  int passed = 0;
  bool enabled = false;
  std::string struck;
};

struct World {
  World() {
    machine.total = 64 * kSize;
    VolumeSpec spec;
    spec.name = "origin";
    spec.capacity.required = kSize;
    spec.filesystem = "ext4";
    Restart();
    REQUIRE_OK(volumes->Create(spec, kOrigin, 4096).status());
    REQUIRE_OK(volumes->StartFormatting(kOrigin, kFilesystem));
    auto& directory = *machine.volumes.at(kOrigin.uuid);
    directory.now.image->content = {
        .filesystem = kFilesystem, .complete = true, .data = "old", .end = 100};
    directory.synced_image = directory.durable.image = directory.now.image;
    REQUIRE_OK(volumes->FinishFormatting(kOrigin));
  }

  void Restart() {
    listed.clear();
    ledger = std::make_unique<Ledger>(
        SpacePolicy{.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1});
    space = std::make_unique<simulator::MemorySpace>(machine, *ledger);
    volumes = std::make_unique<VolumeLifecycle>(records, backend, *space);
    for (const auto& [uuid, directory] : machine.volumes) volumes->Count(uuid).IgnoreError();
  }

  // Until it succeeds, with the next process after a kill.
  template <typename Call>
  void Repeat(Call call) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      try {
        if (call()) return;
      } catch (const simulator::Killed&) {
        if (faults.kind == Fault::kPower || faults.kind == Fault::kPowerDone) machine.LosePower();
        Restart();
      }
      // What a caller that has given up would leave to the reconciler.
      const bool enabled = std::exchange(faults.enabled, false);
      for (const VolumeId& id : {kSnapshot, kCopy}) {
        if (attempt % 2 == 0) (void)volumes->Repair(id);
      }
      faults.enabled = enabled;
    }
    FAIL("it does not become what it should be");
  }
  absl::StatusOr<VolumeRecord> Cut() {
    VolumeSpec spec;
    spec.role = VolumeRole::kSnapshot;
    spec.name = "snap";
    spec.source = ContentSource{VolumeRole::kVolume, kOrigin};
    return volumes->Create(spec, kSnapshot, 512);
  }
  absl::StatusOr<VolumeRecord> Restore() {
    VolumeSpec spec;
    spec.name = "copy";
    spec.filesystem = "ext4";
    spec.source = ContentSource{VolumeRole::kSnapshot, kSnapshot};
    return volumes->Create(spec, kCopy, 512);
  }
  void Copy() {
    Repeat([&] {
      const auto cut = Cut();
      return cut.ok() && cut->volume.state == VolumeState::kReady;
    });
    Repeat([&] { return Restore().ok(); });
    Repeat([&] { return volumes->Delete(kSnapshot, VolumeRole::kSnapshot).ok(); });
  }

  simulator::Machine machine;
  std::set<std::string> listed;
  OneFault faults;
  simulator::MemoryRecords records{machine, listed, faults};
  test::SteppingBackend backend{machine, faults};
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<simulator::MemorySpace> space;
  std::unique_ptr<VolumeLifecycle> volumes;
};

TEST_CASE("a copy in steps survives a fault at each of its primitives") {
  const Fault kind = GENERATE(Fault::kError, Fault::kErrorDone, Fault::kKill, Fault::kKillDone,
                              Fault::kPower, Fault::kPowerDone);
  int struck = 0;
  for (int at = 0;; ++at) {
    World world;
    world.faults.kind = kind;
    world.faults.at = at;
    world.faults.enabled = true;
    world.Copy();
    INFO("fault " << static_cast<int>(kind) << " at " << at << ", " << world.faults.struck);
    if (world.faults.struck.empty()) break;
    ++struck;
    world.faults.enabled = false;
    CHECK(world.machine.volumes.at(kCopy.uuid)->now.image->content.data == "old");
    REQUIRE_OK(world.volumes->Map(kOrigin).status());
    CHECK(world.ledger->Provisioned(Provisioning::kThick) == 2 * kSize);
    world.machine.devices.clear();
    REQUIRE_OK(world.volumes->Delete(kCopy));
    REQUIRE_OK(world.volumes->Delete(kOrigin));
    for (const VolumeId& id : {kOrigin, kSnapshot, kCopy}) {
      REQUIRE_OK(world.volumes->Repair(id).status());
    }
    CHECK(world.machine.volumes.empty());
    CHECK(world.ledger->Provisioned(Provisioning::kThick) == 0);
  }
  CHECK(struck > 50);
}

}  // namespace volume_copying_faults_test
}  // namespace holdfast::pool
