// SPDX-License-Identifier: Apache-2.0
#include "pool/changed_ranges.h"

#include <algorithm>

namespace holdfast::pool {

void Append(Ranges& ranges, const Range& range) {
  if (range.begin >= range.end) return;
  const Range whole{AlignDown(range.begin, kRangeGranularity),
                    AlignUp(range.end, kRangeGranularity)};
  if (!ranges.empty() && whole.begin <= ranges.back().end) {
    ranges.back().end = std::max(ranges.back().end, whole.end);
  } else {
    ranges.push_back(whole);
  }
}

Ranges UnionOf(const Ranges& one, const Ranges& other) {
  Ranges all;
  all.reserve(one.size() + other.size());
  auto left = one.begin();
  auto right = other.begin();
  while (left != one.end() || right != other.end()) {
    const bool from_left =
        right == other.end() || (left != one.end() && left->begin <= right->begin);
    Append(all, from_left ? *left++ : *right++);
  }
  return all;
}

Ranges CutTo(const Ranges& ranges, const Range& window) {
  Ranges cut;
  for (const Range& range : ranges) {
    Append(cut, {std::max(range.begin, window.begin), std::min(range.end, window.end)});
  }
  return cut;
}

absl::Status CheckPage(const RangePage& page, Bytes offset, Bytes capacity) {
  if (page.capacity <= 0 || (capacity != 0 && page.capacity != capacity)) {
    return InvalidArgument("the snapshot has {} bytes, and had {}", page.capacity, capacity);
  }
  const bool ends = offset == page.capacity && page.next == page.capacity;
  if (page.next > page.capacity || (page.next <= offset && !ends)) {
    return InvalidArgument("a page from {} on ends at {} of {}", offset, page.next, page.capacity);
  }
  Bytes at = offset;
  for (const Range& range : page.ranges) {
    const bool aligned = range.begin % kRangeGranularity == 0 && range.end % kRangeGranularity == 0;
    if (range.begin < at || range.end <= range.begin || range.end > page.next || !aligned) {
      return InvalidArgument("{} to {} is no range of a page from {} to {}", range.begin, range.end,
                             at, page.next);
    }
    at = range.end;
  }
  return absl::OkStatus();
}

absl::Status CheckQuestion(const VolumeRecord& target, const VolumeRecord* base, Bytes offset) {
  const Bytes capacity = target.volume.capacity_bytes;
  if (offset < 0 || offset > capacity) {
    return MakeStatus(
        absl::StatusCode::kOutOfRange,
        fmt::format("starting_offset {} is not within the snapshot's {} bytes", offset, capacity));
  }
  if (offset % kRangeGranularity != 0) {
    return InvalidArgument("offset {} is not a multiple of {}", offset, kRangeGranularity);
  }
  if (base == nullptr || base->volume.source == target.volume.source) return absl::OkStatus();
  return InvalidArgument("base_snapshot_id and target_snapshot_id are snapshots of two volumes");
}

RangePage PageOfGrowth(Bytes capacity, Bytes offset) {
  RangePage page{.capacity = capacity, .ranges = {}, .next = capacity};
  Append(page.ranges, {offset, capacity});
  return page;
}

}  // namespace holdfast::pool
