// SPDX-License-Identifier: Apache-2.0
#include "file/image_changes.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "os/unique_fd.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::file {
namespace image_changes_test {

using os::ExtentMap;
using os::MappedExtent;
using pool::Range;
using pool::Ranges;

constexpr Bytes kUnit = pool::kRangeGranularity;
constexpr Bytes kUnits = 48;

// Where each unit of a file is; 0: nowhere.
using Places = std::vector<std::uint64_t>;

Range Of(Bytes begin, Bytes end) { return {begin * kUnit, end * kUnit}; }

MappedExtent ExtentOf(Bytes begin, Bytes end, std::uint64_t place, bool is_known = true) {
  return {.begin = begin * kUnit, .end = end * kUnit, .place = place * kUnit, .is_known = is_known};
}

// With extents that are cut by chance.
ExtentMap MapOf(const Places& places, std::mt19937& chance) {
  ExtentMap map{.extents = {}, .end = kUnits * kUnit};
  for (Bytes at = 0; at < kUnits; ++at) {
    const std::uint64_t place = places[static_cast<std::size_t>(at)];
    if (place == 0) continue;
    MappedExtent* const last = map.extents.empty() ? nullptr : &map.extents.back();
    const bool follows =
        last != nullptr && last->end == at * kUnit &&
        last->place + static_cast<std::uint64_t>(last->end - last->begin) == place * kUnit;
    if (follows && chance() % 2 == 0) {
      last->end += kUnit;
    } else {
      map.extents.push_back(ExtentOf(at, at + 1, place));
    }
  }
  return map;
}

TEST_CASE("the difference of two maps of extents is that of their places") {
  std::mt19937 chance(31);
  for (int round = 0; round < 500; ++round) {
    Places one(kUnits);
    for (std::size_t i = 0; i < kUnits; ++i) one[i] = chance() % 4 == 0 ? 0 : 100 + i;
    Places other = one;
    for (int change = 0; change < 10; ++change) {
      other[chance() % kUnits] = chance() % 3 == 0 ? 0 : 1000 + chance() % 50;
    }
    const auto begin = static_cast<Bytes>(chance() % kUnits);
    const auto end = begin + static_cast<Bytes>(chance() % static_cast<unsigned>(kUnits - begin));
    Ranges wanted;
    for (Bytes at = begin; at < end; ++at) {
      const auto i = static_cast<std::size_t>(at);
      if (one[i] != other[i]) Append(wanted, Of(at, at + 1));
    }
    CHECK(InTwoPlaces(MapOf(one, chance), MapOf(other, chance), Of(begin, end)) == wanted);
  }
}

TEST_CASE("an extent without a known place differs from itself") {
  const ExtentMap known{.extents = {ExtentOf(0, 4, 7)}, .end = 8 * kUnit};
  const ExtentMap unknown{.extents = {ExtentOf(0, 4, 7, false)}, .end = 8 * kUnit};
  CHECK(InTwoPlaces(known, known, Of(0, 8)).empty());
  CHECK(InTwoPlaces(unknown, unknown, Of(0, 8)) == Ranges{Of(0, 4)});
  CHECK(InTwoPlaces(known, unknown, Of(0, 8)) == Ranges{Of(0, 4)});
}

class Image final {
 public:
  Image(const test::TempDirectory& directory, const char* name, Bytes size)
      : fd_(::openat(directory.fd(), name, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    REQUIRE(::ftruncate(fd_.get(), size) == 0);
  }
  void Write(Bytes at, const std::string& bytes) const {
    REQUIRE(::pwrite(fd_.get(), bytes.data(), bytes.size(), at) ==
            static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  const os::UniqueFd fd_;
};

Ranges All(const Comparison& images, Bytes offset) {
  Ranges all;
  while (offset < images.capacity) {
    const pool::RangePage page = test::Value(FindChanges(images, offset));
    REQUIRE_OK(CheckPage(page, offset, images.capacity));
    for (const Range& range : page.ranges) Append(all, range);
    offset = page.next;
  }
  return all;
}

TEST_CASE("images that share nothing are compared block by block") {
  const test::TempDirectory directory;
  const Bytes capacity = 64 * kDigestBlock + kUnit;  // the last block is a short one
  const Image base(directory, "base", capacity);
  const Image target(directory, "target", capacity);
  const std::string bytes(static_cast<std::size_t>(kDigestBlock), 'x');
  base.Write(0, bytes);
  target.Write(0, bytes);                                   // equal
  base.Write(2 * kDigestBlock, bytes);                      // zeros now
  target.Write(4 * kDigestBlock, bytes);                    // zeros before
  target.Write(6 * kDigestBlock, std::string(4096, '\0'));  // zeros all the time
  base.Write(8 * kDigestBlock, bytes);
  target.Write(8 * kDigestBlock, bytes);
  target.Write(9 * kDigestBlock - 1, "y");
  target.Write(capacity - 1, "z");
  const Comparison images{.base_fd = base.fd(),
                          .target_fd = target.fd(),
                          .capacity = capacity,
                          .by_place = false,
                          .by_content = true};
  const Ranges wanted{{2 * kDigestBlock, 3 * kDigestBlock},
                      {4 * kDigestBlock, 5 * kDigestBlock},
                      {8 * kDigestBlock, 9 * kDigestBlock},
                      {64 * kDigestBlock, capacity}};
  CHECK(All(images, 0) == wanted);
  for (Bytes offset = 0; offset < capacity; offset += 4 * kUnit) {
    CHECK(All(images, offset) == CutTo(wanted, {offset, capacity}));
  }
}

TEST_CASE("data is found where it was written") {
  const test::TempDirectory directory;
  const Bytes capacity = 4 * kMiB;
  const Image image(directory, "image", capacity);
  image.Write(kMiB + 5, "x");
  image.Write(3 * kMiB - 1, "xy");
  const pool::RangePage page = test::Value(FindData(image.fd(), capacity, 0));
  REQUIRE_OK(CheckPage(page, 0, capacity));
  CHECK(page.next == capacity);
  const auto covers = [&](Bytes at) {
    return std::ranges::any_of(
        page.ranges, [&](const Range& range) { return range.begin <= at && at < range.end; });
  };
  CHECK((covers(kMiB + 5) && covers(3 * kMiB - 1) && covers(3 * kMiB)));
  CHECK_FALSE(covers(0));
  const pool::RangePage rest = test::Value(FindData(image.fd(), capacity, 3 * kMiB));
  CHECK(rest.ranges == CutTo(page.ranges, {3 * kMiB, capacity}));
}

}  // namespace image_changes_test
}  // namespace holdfast::file
