// SPDX-License-Identifier: Apache-2.0
#include "pool/changed_ranges.h"

#include <catch2/catch.hpp>
#include <random>

#include "support/outcome.h"

namespace holdfast::pool {
namespace changed_ranges_test {

constexpr Bytes kUnit = kRangeGranularity;
constexpr int kUnits = 64;

Range Of(Bytes begin, Bytes end) { return {begin * kUnit, end * kUnit}; }

Ranges RangesOf(const std::vector<bool>& units) {
  Ranges ranges;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto at = static_cast<Bytes>(i);
    if (units[i]) Append(ranges, Of(at, at + 1));
  }
  return ranges;
}

std::vector<bool> UnitsOf(const Ranges& ranges) {
  std::vector<bool> units(kUnits);
  for (const Range& range : ranges) {
    for (Bytes at = range.begin / kUnit; at < range.end / kUnit; ++at) {
      units[static_cast<std::size_t>(at)] = true;
    }
  }
  return units;
}

std::vector<bool> RandomUnits(std::mt19937& chance) {
  std::vector<bool> units(kUnits);
  for (auto unit : units) unit = chance() % 3 == 0;
  return units;
}

VolumeRecord SnapshotOf(const std::string& volume, Bytes capacity) {
  VolumeRecord record;
  record.volume.role = VolumeRole::kSnapshot;
  record.volume.capacity_bytes = capacity;
  record.volume.source =
      ContentSource{VolumeRole::kVolume, {.pool = "default", .node = "n1", .uuid = volume}};
  return record;
}

TEST_CASE("ranges are joined and widened to whole granules") {
  Ranges ranges;
  Append(ranges, {5, 5});
  CHECK(ranges.empty());
  Append(ranges, {1, 2});
  CHECK(ranges == Ranges{Of(0, 1)});
  Append(ranges, {kUnit, kUnit + 1});
  CHECK(ranges == Ranges{Of(0, 2)});
  Append(ranges, {100, 200});  // within the last one
  CHECK(ranges == Ranges{Of(0, 2)});
  Append(ranges, Of(3, 4));
  CHECK(ranges == Ranges{Of(0, 2), Of(3, 4)});
}

TEST_CASE("unions and cuts are those of the sets of bytes") {
  std::mt19937 chance(31);
  for (int round = 0; round < 500; ++round) {
    const std::vector<bool> one = RandomUnits(chance);
    const std::vector<bool> other = RandomUnits(chance);
    const auto begin = static_cast<Bytes>(chance() % kUnits);
    const auto end = static_cast<Bytes>(chance() % (kUnits + 1));
    std::vector<bool> both(kUnits);
    std::vector<bool> cut(kUnits);
    for (std::size_t i = 0; i < kUnits; ++i) {
      const auto at = static_cast<Bytes>(i);
      both[i] = one[i] || other[i];
      cut[i] = one[i] && at >= begin && at < end;
    }
    CHECK(UnionOf(RangesOf(one), RangesOf(other)) == RangesOf(both));
    CHECK(CutTo(RangesOf(one), Of(begin, end)) == RangesOf(cut));
    CHECK(UnitsOf(RangesOf(one)) == one);
  }
}

TEST_CASE("a page that cannot be an answer is refused") {
  const RangePage sound{.capacity = 64 * kUnit, .ranges = {Of(2, 4), Of(4, 5)}, .next = 8 * kUnit};
  REQUIRE_OK(CheckPage(sound, 0, 0));
  REQUIRE_OK(CheckPage(sound, 2 * kUnit, 64 * kUnit));
  REQUIRE_OK(CheckPage({.capacity = kUnit, .ranges = {}, .next = kUnit}, kUnit, 0));
  const auto with = [&](const auto& change) {
    RangePage page = sound;
    change(page);
    return page;
  };
  const struct {
    const char* what;
    RangePage page;
    Bytes offset = 0;
    Bytes capacity = 0;
  } rows[] = {
      {"another capacity", sound, 0, kUnit},
      {"no capacity", with([](RangePage& page) { page.capacity = 0; })},
      {"less than none", with([](RangePage& page) { page.capacity = -1; })},
      {"no progress", with([](RangePage& page) { page.next = 0; })},
      {"back", with([](RangePage& page) { page.next = -kUnit; })},
      {"no progress at all", {.capacity = kUnit, .ranges = {}, .next = 0}},
      {"beyond the end", with([](RangePage& page) { page.next = 65 * kUnit; })},
      {"before the offset", sound, 3 * kUnit},
      {"behind the page", with([](RangePage& page) { page.ranges[1].end = 9 * kUnit; })},
      {"descending", with([](RangePage& page) { page.ranges[1] = Of(0, 1); })},
      {"overlapping", with([](RangePage& page) { page.ranges[1] = Of(3, 6); })},
      {"empty", with([](RangePage& page) { page.ranges[1] = Of(5, 5); })},
      {"turned round", with([](RangePage& page) { page.ranges[1] = Of(6, 5); })},
      {"not whole", with([](RangePage& page) { ++page.ranges[1].end; })},
      {"negative", with([](RangePage& page) { page.ranges[0].begin = -kUnit; })},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    CHECK(test::CodeOf(CheckPage(row.page, row.offset, row.capacity)) ==
          absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("a question is about an offset within, and two snapshots of one volume") {
  const std::string uuid = "11111111-2222-3333-4444-555555555555";
  const VolumeRecord target = SnapshotOf(uuid, 64 * kUnit);
  const VolumeRecord base = SnapshotOf(uuid, 32 * kUnit);
  const VolumeRecord other = SnapshotOf("21111111-2222-3333-4444-555555555555", 64 * kUnit);
  REQUIRE_OK(CheckQuestion(target, nullptr, 0));
  REQUIRE_OK(CheckQuestion(target, &base, 64 * kUnit));
  CHECK_FAILS(CheckQuestion(target, nullptr, -kUnit), kOutOfRange, "starting_offset");
  CHECK_FAILS(CheckQuestion(target, nullptr, 65 * kUnit), kOutOfRange, "starting_offset");
  CHECK_FAILS(CheckQuestion(target, nullptr, 1), kInvalidArgument, "multiple");
  CHECK_FAILS(CheckQuestion(target, &other, 0), kInvalidArgument, "base_snapshot_id");
}

TEST_CASE("what the base did not have has changed") {
  const RangePage page = PageOfGrowth(64 * kUnit, 32 * kUnit);
  CHECK(page.ranges == Ranges{Of(32, 64)});
  REQUIRE_OK(CheckPage(page, 32 * kUnit, 0));
  const RangePage none = PageOfGrowth(64 * kUnit, 64 * kUnit);
  CHECK(none.ranges.empty());
  REQUIRE_OK(CheckPage(none, 64 * kUnit, 0));
}

}  // namespace changed_ranges_test
}  // namespace holdfast::pool
