// SPDX-License-Identifier: Apache-2.0
#include "file/image_changes.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "file/data_copy.h"
#include "file/image_read.h"
#include "os/extent_map.h"

namespace holdfast::file {
namespace {

using Clock = std::chrono::steady_clock;
using os::ExtentMap;
using os::MappedExtent;
using pool::Range;
using pool::Ranges;

// Of a page: the answer of a node has to fit into one message of the link.
constexpr std::size_t kMostExtents = 8192;
constexpr std::chrono::milliseconds kLongestComparison{500};
constexpr int kBlocksBetweenLooks = 64;  // at the clock

// Where two images may differ, up to `end`.
struct Suspects {
  Ranges ranges;
  Bytes end = 0;
};

// The extent that `at` is in; null for zeros. `next` moves on to the first that ends behind it.
const MappedExtent* ExtentAt(const ExtentMap& map, std::size_t& next, Bytes at) {
  while (next < map.extents.size() && map.extents[next].end <= at) ++next;
  const bool inside = next < map.extents.size() && map.extents[next].begin <= at;
  return inside ? &map.extents[next] : nullptr;
}

bool AreInOnePlace(const MappedExtent* one, const MappedExtent* other, Bytes at) {
  if (one == nullptr || other == nullptr) return one == other;
  const auto place = [at](const MappedExtent& extent) {
    return extent.place + static_cast<std::uint64_t>(at - extent.begin);
  };
  return one->is_known && other->is_known && place(*one) == place(*other);
}

// Up to where what ExtentAt has found goes on.
Bytes EndAt(const ExtentMap& map, std::size_t next, const MappedExtent* found, Bytes end) {
  if (found != nullptr) return std::min(end, found->end);
  return next < map.extents.size() ? std::min(end, map.extents[next].begin) : end;
}

// Where either image has data.
absl::StatusOr<Suspects> FindDataOfEither(const Comparison& images, Bytes offset) {
  ASSIGN_OR_RETURN(const pool::RangePage base, FindData(images.base_fd, images.capacity, offset));
  ASSIGN_OR_RETURN(const pool::RangePage target,
                   FindData(images.target_fd, images.capacity, offset));
  const Bytes end = std::min(base.next, target.next);
  return Suspects{.ranges = CutTo(UnionOf(base.ranges, target.ranges), {offset, end}), .end = end};
}

absl::StatusOr<Suspects> FindSuspects(const Comparison& images, Bytes offset) {
  if (!images.by_place) return FindDataOfEither(images, offset);
  ASSIGN_OR_RETURN(pool::RangePage moved,
                   FindMoved(images.base_fd, images.target_fd, images.capacity, offset));
  return Suspects{.ranges = std::move(moved.ranges), .end = moved.next};
}

class BlockComparer final {
 public:
  explicit BlockComparer(const Comparison& images) : images_(images) {}

  // Whether the block that begins there differs.
  absl::StatusOr<bool> Differs(Bytes begin) {
    if (begin == last_) return differs_;
    const bool known = images_.base_digests != nullptr && images_.target_digests != nullptr;
    ASSIGN_OR_RETURN(differs_, known ? DigestsDiffer(begin) : BytesDiffer(begin));
    last_ = begin;
    return differs_;
  }

 private:
  absl::StatusOr<bool> DigestsDiffer(Bytes begin) {
    ASSIGN_OR_RETURN(const Digest base, images_.base_digests->At(begin));
    ASSIGN_OR_RETURN(const Digest target, images_.target_digests->At(begin));
    return base != target;
  }
  absl::StatusOr<bool> BytesDiffer(Bytes begin) {
    const auto size = static_cast<std::size_t>(std::min(kDigestBlock, images_.capacity - begin));
    base_.resize(size);
    target_.resize(size);
    RETURN_IF_ERROR(ReadImage(images_.base_fd, base_, begin));
    RETURN_IF_ERROR(ReadImage(images_.target_fd, target_, begin));
    return base_ != target_;
  }

  const Comparison& images_;
  std::string base_;
  std::string target_;
  Bytes last_ = -1;
  bool differs_ = false;
};

// Leaves those of the suspects that are in blocks which differ.
absl::StatusOr<Suspects> CompareContents(const Comparison& images, const Suspects& suspects) {
  BlockComparer comparer(images);
  Suspects left{.ranges = {}, .end = suspects.end};
  const auto until = Clock::now() + kLongestComparison;
  int looked_at = 0;
  for (const Range& range : suspects.ranges) {
    for (Bytes at = range.begin; at < range.end;) {
      const Bytes block = AlignDown(at, kDigestBlock);
      const Bytes end = std::min(range.end, block + kDigestBlock);
      ASSIGN_OR_RETURN(const bool differs, comparer.Differs(block));
      if (differs) Append(left.ranges, {at, end});
      at = end;
      const bool in_time = ++looked_at % kBlocksBetweenLooks != 0 || Clock::now() < until;
      if (in_time && left.ranges.size() < kMostExtents) continue;
      left.end = at;
      return left;
    }
  }
  return left;
}

}  // namespace

pool::Ranges InTwoPlaces(const ExtentMap& one, const ExtentMap& other, const Range& window) {
  Ranges found;
  std::size_t next_one = 0;
  std::size_t next_other = 0;
  for (Bytes at = window.begin; at < window.end;) {
    const MappedExtent* const left = ExtentAt(one, next_one, at);
    const MappedExtent* const right = ExtentAt(other, next_other, at);
    const Bytes until = std::min(EndAt(one, next_one, left, window.end),
                                 EndAt(other, next_other, right, window.end));
    if (!AreInOnePlace(left, right, at)) Append(found, {at, until});
    at = until;
  }
  return found;
}

// A block of the base that is freed and then used for the target would be in one place, too, but
// never at the same time. So only what the base still has afterwards counts as shared.
absl::StatusOr<pool::RangePage> FindMoved(int base_fd, int target_fd, Bytes capacity,
                                          Bytes offset) {
  ASSIGN_OR_RETURN(const ExtentMap before, os::MapExtents(base_fd, offset, capacity, kMostExtents));
  ASSIGN_OR_RETURN(const ExtentMap target,
                   os::MapExtents(target_fd, offset, before.end, kMostExtents));
  ASSIGN_OR_RETURN(const ExtentMap after,
                   os::MapExtents(base_fd, offset, target.end, kMostExtents));
  const Range window{offset, after.end};
  return pool::RangePage{
      .capacity = capacity,
      .ranges = UnionOf(InTwoPlaces(before, target, window), InTwoPlaces(before, after, window)),
      .next = after.end};
}

absl::StatusOr<pool::RangePage> FindData(int image_fd, Bytes capacity, Bytes offset) {
  pool::RangePage page{.capacity = capacity, .ranges = {}, .next = offset};
  while (page.next < capacity && page.ranges.size() < kMostExtents) {
    ASSIGN_OR_RETURN(const auto data, NextData(image_fd, page.next, capacity));
    if (data) Append(page.ranges, {data->begin, data->end});
    page.next = data ? data->end : capacity;
  }
  return page;
}

absl::StatusOr<pool::RangePage> FindChanges(const Comparison& images, Bytes offset) {
  ASSIGN_OR_RETURN(Suspects found, FindSuspects(images, offset));
  if (images.by_content) {
    ASSIGN_OR_RETURN(found, CompareContents(images, found));
  }
  return pool::RangePage{
      .capacity = images.capacity, .ranges = std::move(found.ranges), .next = found.end};
}

}  // namespace holdfast::file
