// SPDX-License-Identifier: Apache-2.0
// Random operations on the ledger, compared with a model that recomputes all sums each time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "pool/ledger.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace ledger_model_test {

constexpr Bytes kTotal = 1'000'000;

struct ModelVolume {
  Provisioning provisioning;
  Bytes promised;
  Bytes allocated;
};

// The rule of ledger.h in whole numbers, for whole overcommit ratios.
class Model final {
 public:
  Model(Bytes reserve, Bytes overcommit, Bytes watermark_percent)
      : reserve_(reserve), overcommit_(overcommit), watermark_percent_(watermark_percent) {}

  std::map<std::string, ModelVolume> volumes;

  [[nodiscard]] Room FreeRoom() const {
    Bytes used = 0;
    for (const auto& [uuid, volume] : volumes) used += volume.allocated;
    return Room{kTotal, kTotal - used};
  }

  [[nodiscard]] bool Allows(Provisioning provisioning, Bytes increment) const {
    const Bytes room = FreeRoom().available - reserve_ - Debt(Provisioning::kThick);
    const Bytes thin_debt = Debt(Provisioning::kThin);
    if (provisioning == Provisioning::kThick) return increment + thin_debt / overcommit_ <= room;
    if (kTotal - FreeRoom().available > kTotal / 100 * watermark_percent_) return false;
    return thin_debt + increment <= room * overcommit_;
  }

  [[nodiscard]] Bytes Provisioned(Provisioning provisioning) const {
    Bytes sum = 0;
    for (const auto& [uuid, volume] : volumes) {
      if (volume.provisioning == provisioning) sum += volume.promised;
    }
    return sum;
  }

 private:
  [[nodiscard]] Bytes Debt(Provisioning provisioning) const {
    Bytes sum = 0;
    for (const auto& [uuid, volume] : volumes) {
      if (volume.provisioning != provisioning) continue;
      sum += std::max<Bytes>(0, volume.promised - volume.allocated);
    }
    return sum;
  }

  Bytes reserve_;
  Bytes overcommit_;
  Bytes watermark_percent_;
};

class Walk final {
 public:
  Walk(unsigned seed, Bytes reserve, Bytes overcommit, Bytes watermark_percent)
      : random_(seed),
        model_(reserve, overcommit, watermark_percent),
        ledger_(SpacePolicy{.reserve_bytes = reserve,
                            .reserve_fraction = 0,
                            .overcommit = static_cast<double>(overcommit),
                            .watermark = static_cast<double>(watermark_percent) / 100}) {}

  void Step() {
    const std::string uuid(1, static_cast<char>('a' + Below(8)));
    const auto found = model_.volumes.find(uuid);
    const auto kind = Below(2) == 0 ? Provisioning::kThick : Provisioning::kThin;
    switch (Below(5)) {
      case 0:
      case 1:
        Reserve(uuid, found == model_.volumes.end() ? kind : found->second.provisioning);
        break;
      case 2:
        if (found != model_.volumes.end()) Write(found->second);
        break;
      case 3:
        if (found != model_.volumes.end()) Remove(uuid);
        break;
      case 4:
        ledger_.Recount(Meter());
        break;
    }
    CHECK(ledger_.Provisioned(Provisioning::kThick) == model_.Provisioned(Provisioning::kThick));
    CHECK(ledger_.Provisioned(Provisioning::kThin) == model_.Provisioned(Provisioning::kThin));
  }

  int granted() const { return granted_; }
  int refused() const { return refused_; }

 private:
  Bytes Below(Bytes end) { return std::uniform_int_distribution<Bytes>(0, end - 1)(random_); }

  Ledger::MeasureAllocated Meter() const {
    return [this](const std::string& uuid) -> std::optional<Bytes> {
      const auto found = model_.volumes.find(uuid);
      if (found == model_.volumes.end()) return std::nullopt;
      return found->second.allocated;
    };
  }

  void Reserve(const std::string& uuid, Provisioning provisioning) {
    const Bytes increment = 1 + Below(kTotal / 3);
    const bool allowed = model_.Allows(provisioning, increment);
    auto reservation = ledger_.Reserve(
        uuid, provisioning, increment, [this] { return model_.FreeRoom(); }, Meter());
    CAPTURE(uuid, increment, allowed, reservation.status());
    REQUIRE(reservation.ok() == allowed);
    ++(allowed ? granted_ : refused_);
    if (!allowed || Below(4) == 0) return;  // given back
    reservation->Commit();
    ModelVolume& volume = model_.volumes.try_emplace(uuid, provisioning, 0, 0).first->second;
    volume.promised += increment;
    // A thick volume is allocated at once and the ledger notified; a thin one is written later.
    if (provisioning == Provisioning::kThin) return;
    volume.allocated = volume.promised;
    ledger_.Set(uuid, provisioning, volume.promised, volume.allocated);
  }

  // Within what is provisioned to it and what is free, as on a real filesystem.
  void Write(ModelVolume& volume) {
    if (volume.provisioning == Provisioning::kThick) return;
    const Bytes most = std::min(volume.promised, volume.allocated + model_.FreeRoom().available);
    volume.allocated = Below(most + 1);
  }

  void Remove(const std::string& uuid) {
    model_.volumes.erase(uuid);
    ledger_.Remove(uuid);
  }

  std::mt19937 random_;
  Model model_;
  Ledger ledger_;
  int granted_ = 0;
  int refused_ = 0;
};

TEST_CASE("the ledger decides as the rule says, whatever happened before") {
  const struct {
    Bytes reserve, overcommit, watermark_percent;
  } policies[] = {{0, 1, 100}, {50'000, 1, 90}, {0, 2, 70}, {100'000, 4, 50}};
  int granted = 0;
  int refused = 0;
  for (const auto& policy : policies) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      CAPTURE(policy.reserve, policy.overcommit, policy.watermark_percent, seed);
      Walk walk(seed, policy.reserve, policy.overcommit, policy.watermark_percent);
      for (int step = 0; step < 300; ++step) walk.Step();
      granted += walk.granted();
      refused += walk.refused();
    }
  }
  CHECK(granted > 500);  // both answers were really seen
  CHECK(refused > 500);
}

}  // namespace ledger_model_test
}  // namespace holdfast::pool
