// SPDX-License-Identifier: Apache-2.0
#include "pool/ledger.h"

#include <catch2/catch.hpp>
#include <limits>
#include <optional>
#include <string>

#include "support/outcome.h"

namespace holdfast::pool {
namespace ledger_test {

constexpr auto kThick = Provisioning::kThick;
constexpr auto kThin = Provisioning::kThin;

// No reserve, no overcommit, no watermark.
SpacePolicy Plain() {
  return SpacePolicy{.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1};
}

Ledger::MeasureRoom Of(Room room) {
  return [room] { return room; };
}

std::optional<Bytes> Unknown(const std::string&) { return std::nullopt; }

absl::Status Promise(Ledger& ledger, const std::string& uuid, Provisioning provisioning,
                     Bytes increment, Room room) {
  auto reservation = ledger.Reserve(uuid, provisioning, increment, Of(room), Unknown);
  if (reservation.ok()) reservation->Commit();
  return reservation.status();
}

TEST_CASE("a volume keeps its space under another name") {
  Ledger ledger(Plain());
  ledger.Set("a", kThick, 100, 60);
  ledger.Rename("a", "b");
  CHECK(ledger.ProvisionedTo("a", kThick) == 0);
  CHECK(ledger.ProvisionedTo("b", kThick) == 100);
  CHECK(ledger.AllocatedTo("b") == 60);
  CHECK(ledger.Provisioned(kThick) == 100);
  ledger.Rename("unknown", "b");
  CHECK(ledger.ProvisionedTo("b", kThick) == 100);
}

TEST_CASE("what would fit without some volumes is known before they are removed") {
  Ledger ledger(Plain());
  ledger.Set("a", kThick, 100, 100);
  ledger.Set("b", kThin, 200, 50);  // 150 more may be written
  const Room room{.total = 1000, .available = 400};
  CHECK(ledger.WouldFitWithout({}, kThick, 250, room));
  CHECK_FALSE(ledger.WouldFitWithout({}, kThick, 251, room));
  CHECK(ledger.WouldFitWithout({"a"}, kThick, 350, room));
  CHECK_FALSE(ledger.WouldFitWithout({"a"}, kThick, 351, room));
  CHECK(ledger.WouldFitWithout({"a", "b"}, kThick, 550, room));
  CHECK_FALSE(ledger.WouldFitWithout({"a", "b", "unknown"}, kThick, 551, room));
  CHECK(ledger.Provisioned(kThick) == 100);
}

TEST_CASE("one promise into an empty pool") {
  const SpacePolicy kept{
      .reserve_bytes = 100, .reserve_fraction = 0, .overcommit = 1, .watermark = 1};
  const SpacePolicy part{
      .reserve_bytes = 0, .reserve_fraction = 0.5, .overcommit = 1, .watermark = 1};
  const SpacePolicy both{
      .reserve_bytes = 600, .reserve_fraction = 0.5, .overcommit = 1, .watermark = 1};
  const SpacePolicy over{
      .reserve_bytes = 100, .reserve_fraction = 0, .overcommit = 2, .watermark = 1};
  const SpacePolicy mark{
      .reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 0.5};
  const struct {
    const char* what;
    SpacePolicy policy;
    Provisioning provisioning;
    Room room;
    Bytes largest;  // reserved; one byte more is refused
  } rows[] = {
      {"thick takes all", Plain(), kThick, {1000, 1000}, 1000},
      {"thin takes all", Plain(), kThin, {1000, 1000}, 1000},
      {"what others use is gone", Plain(), kThick, {1000, 300}, 300},
      {"kept bytes", kept, kThick, {1000, 1000}, 900},
      {"kept bytes, thin", kept, kThin, {1000, 1000}, 900},
      {"kept part of the whole, not of the rest", part, kThick, {1000, 700}, 200},
      {"the larger reserve counts", both, kThick, {1000, 1000}, 400},
      {"less than the reserve is left", kept, kThick, {1000, 50}, 0},
      {"overcommit is for thin", over, kThick, {1000, 1000}, 900},
      {"overcommit", over, kThin, {1000, 1000}, 1800},
      {"below the watermark", mark, kThin, {1000, 500}, 500},
      {"above the watermark", mark, kThin, {1000, 499}, 0},
      {"the watermark is for thin", mark, kThick, {1000, 499}, 499},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    Ledger refusing(row.policy);
    CHECK_FAILS(Promise(refusing, "a", row.provisioning, row.largest + 1, row.room),
                kResourceExhausted, "");
    CHECK(refusing.Provisioned(row.provisioning) == 0);
    Ledger ledger(row.policy);
    if (row.largest > 0) REQUIRE_OK(Promise(ledger, "a", row.provisioning, row.largest, row.room));
    CHECK(ledger.Provisioned(row.provisioning) == row.largest);
  }
}

TEST_CASE("a promise counts against the next one, of either kind") {
  const Room room{1000, 1000};
  const auto first = GENERATE(as<Provisioning>(), kThick, kThin);
  const auto second = GENERATE(as<Provisioning>(), kThick, kThin);
  Ledger ledger(Plain());
  REQUIRE_OK(Promise(ledger, "a", first, 600, room));
  CHECK_FAILS(Promise(ledger, "b", second, 401, room), kResourceExhausted, "400 B");
  REQUIRE_OK(Promise(ledger, "b", second, 400, room));
}

TEST_CASE("thin debt weighs by the overcommit ratio") {
  SpacePolicy policy = Plain();
  policy.overcommit = 4;
  Ledger ledger(policy);
  const Room room{1000, 1000};
  REQUIRE_OK(Promise(ledger, "thin", kThin, 2000, room));
  CHECK_FAILS(Promise(ledger, "thick", kThick, 501, room), kResourceExhausted, "");
  REQUIRE_OK(Promise(ledger, "thick", kThick, 500, room));
  CHECK_FAILS(Promise(ledger, "thin", kThin, 1, room), kResourceExhausted, "");
}

TEST_CASE("allocated bytes are no debt: the filesystem counts them") {
  Ledger ledger(Plain());
  ledger.Set("a", kThick, 600, 600);
  ledger.Set("b", kThin, 300, 100);
  // 700 of 1000 are used, 200 still owed to b.
  REQUIRE_OK(Promise(ledger, "c", kThick, 100, {1000, 300}));
  CHECK_FAILS(Promise(ledger, "d", kThick, 1, {1000, 300}), kResourceExhausted, "");
}

TEST_CASE("more allocated than promised is no credit") {
  Ledger ledger(Plain());
  ledger.Set("a", kThick, 100, 500);
  CHECK_FAILS(Promise(ledger, "b", kThick, 501, {1000, 500}), kResourceExhausted, "");
}

TEST_CASE("before anything is refused, thin volumes are counted again") {
  Ledger ledger(Plain());
  ledger.Set("thin", kThin, 800, 0);
  int asked = 0;
  const auto meter = [&](const std::string& uuid) -> std::optional<Bytes> {
    ++asked;
    return uuid == "thin" ? std::optional<Bytes>(500) : std::nullopt;
  };
  // 500 written by the volume: 500 left, 300 of them unallocated.
  CHECK_FAILS(ledger.Reserve("new", kThick, 201, Of({1000, 500}), meter), kResourceExhausted, "");
  CHECK(asked > 0);
  CHECK(ledger.Reserve("new", kThick, 200, Of({1000, 500}), meter).ok());
}

TEST_CASE("a clear yes asks nobody") {
  Ledger ledger(Plain());
  ledger.Set("thin", kThin, 100, 0);
  const auto meter = [](const std::string&) -> std::optional<Bytes> {
    FAIL_CHECK("asked");
    return std::nullopt;
  };
  CHECK(ledger.Reserve("new", kThick, 900, Of({1000, 1000}), meter).ok());
}

TEST_CASE("a volume that cannot be measured keeps its last count") {
  Ledger ledger(Plain());
  ledger.Set("thin", kThin, 800, 300);
  ledger.Recount(Unknown);
  CHECK(ledger.LargestReservation(kThick, {100'000, 10'000}) == (10'000 - 500) / 4096 * 4096);
}

TEST_CASE("a reservation that is not kept is given back") {
  Ledger ledger(Plain());
  const Room room{1000, 1000};
  {
    const auto reservation = ledger.Reserve("a", kThick, 1000, Of(room), Unknown);
    REQUIRE_OK(reservation);
    CHECK(ledger.Provisioned(kThick) == 1000);
    CHECK_FAILS(Promise(ledger, "b", kThick, 1, room), kResourceExhausted, "");
  }
  CHECK(ledger.Provisioned(kThick) == 0);
  REQUIRE_OK(Promise(ledger, "b", kThick, 1000, room));
}

TEST_CASE("only the increment of a growth is given back") {
  Ledger ledger(Plain());
  ledger.Set("a", kThin, 400, 100);
  { REQUIRE_OK(ledger.Reserve("a", kThin, 300, Of({1000, 1000}), Unknown)); }
  CHECK(ledger.Provisioned(kThin) == 400);
  CHECK(ledger.Unallocated(kThin) == 300);
  CHECK(ledger.AllocatedTo("a") == 100);
  CHECK(ledger.AllocatedTo("b") == 0);
  CHECK(ledger.Unallocated(kThick) == 0);
}

TEST_CASE("a moved reservation is given back once") {
  Ledger ledger(Plain());
  {
    auto reservation = ledger.Reserve("a", kThick, 10, Of({1000, 1000}), Unknown);
    REQUIRE_OK(reservation);
    REQUIRE_OK(Promise(ledger, "a", kThick, 10, {1000, 1000}));
    const Ledger::Reservation moved = *std::move(reservation);
    CHECK(ledger.Provisioned(kThick) == 20);
  }
  CHECK(ledger.Provisioned(kThick) == 10);
}

TEST_CASE("a reservation for a volume that has gone gives nothing back") {
  Ledger ledger(Plain());
  ledger.Set("other", kThick, 50, 0);
  {
    const auto reservation = ledger.Reserve("a", kThick, 10, Of({1000, 1000}), Unknown);
    REQUIRE_OK(reservation);
    ledger.Remove("a");
  }
  CHECK(ledger.Provisioned(kThick) == 50);
}

TEST_CASE("the truth replaces a promise, and nothing is left of a removed volume") {
  Ledger ledger(Plain());
  REQUIRE_OK(Promise(ledger, "a", kThick, 500, {1000, 1000}));
  ledger.Set("a", kThick, 700, 700);
  CHECK(ledger.Provisioned(kThick) == 700);
  ledger.Set("a", kThin, 300, 0);
  CHECK(ledger.Provisioned(kThick) == 0);
  CHECK(ledger.Provisioned(kThin) == 300);
  ledger.Remove("a");
  ledger.Remove("a");
  CHECK(ledger.Provisioned(kThin) == 0);
  CHECK(ledger.LargestReservation(kThick, {8192, 8192}) == 8192);
}

TEST_CASE("the largest promise is the one that is made") {
  SpacePolicy policy{
      .reserve_bytes = 10'000, .reserve_fraction = 0, .overcommit = 1.5, .watermark = 0.9};
  const auto provisioning = GENERATE(as<Provisioning>(), kThick, kThin);
  Ledger ledger(policy);
  ledger.Set("thick", kThick, 5000, 1000);
  ledger.Set("thin", kThin, 70'000, 20'000);
  const auto meter = [](const std::string& uuid) -> std::optional<Bytes> {
    return uuid == "thick" ? 1000 : 20'000;
  };
  const Room room{1'000'000, 500'000};
  const Bytes largest = ledger.LargestReservation(provisioning, room);
  CHECK(largest % kVolumeGranularity == 0);
  CHECK(largest > 0);
  CHECK_FAILS(ledger.Reserve("new", provisioning, largest + kVolumeGranularity, Of(room), meter),
              kResourceExhausted, "");
  CHECK(ledger.Reserve("new", provisioning, largest, Of(room), meter).ok());
}

TEST_CASE("no promise is made on a full or overdrawn filesystem, and none is negative") {
  Ledger ledger(Plain());
  ledger.Set("a", kThick, 5000, 0);
  for (const Room room : {Room{1000, 0}, Room{10'000, 4000}, Room{0, 0}}) {
    CHECK(ledger.LargestReservation(kThick, room) == 0);
    CHECK(ledger.LargestReservation(kThin, room) == 0);
    CHECK_FAILS(Promise(ledger, "b", kThick, 1, room), kResourceExhausted, "0 B");
  }
}

TEST_CASE("a refusal for the watermark says so") {
  SpacePolicy policy = Plain();
  policy.watermark = 0.8;
  Ledger ledger(policy);
  CHECK_FAILS(Promise(ledger, "a", kThin, 1, {1000, 100}), kResourceExhausted,
              "90 % full (watermark 80 %)");
}

TEST_CASE("room that cannot be measured is no room") {
  Ledger ledger(Plain());
  const auto broken = []() -> absl::StatusOr<Room> { return FailedPrecondition("no disk"); };
  CHECK_FAILS(ledger.Reserve("a", kThick, 1, broken, Unknown), kFailedPrecondition, "no disk");
  CHECK(ledger.Provisioned(kThick) == 0);
}

TEST_CASE("sizes at the end of the number range do not wrap") {
  SpacePolicy policy = Plain();
  policy.overcommit = 1000;
  Ledger ledger(policy);
  const Bytes huge = Bytes{1} << 60;
  CHECK_FAILS(Promise(ledger, "a", kThick, std::numeric_limits<Bytes>::max(), {huge, huge}),
              kResourceExhausted, "");
  CHECK(ledger.LargestReservation(kThin, {huge, huge}) > huge);
}

}  // namespace ledger_test
}  // namespace holdfast::pool
