// SPDX-License-Identifier: Apache-2.0
// Ranges of the bytes of a snapshot: those that hold data, or those that differ from an earlier
// snapshot of the same volume. They may be too long, which costs a backup time. They are never too
// short, which would cost it data.
#pragma once

#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/status.h"
#include "pool/volume_record.h"

namespace holdfast::pool {

struct Range {
  Bytes begin = 0;
  Bytes end = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

// Ascending; none is empty, and none touches the next one.
using Ranges = std::vector<Range>;

// Ranges begin and end at multiples of this, whatever the sectors of the device are.
inline constexpr Bytes kRangeGranularity = 4096;

// A part of an answer, which continues where it ends.
struct RangePage {
  Bytes capacity = 0;  // of the snapshot
  Ranges ranges;
  Bytes next = 0;  // everything before it is answered; the capacity at the end of the answer
  // Of the bytes that were looked at: pages with another one are of another snapshot of the name.
  std::string version = {};
};

// Adds a range that begins no earlier than the last one does, widened to whole granules; an empty
// one adds nothing.
void Append(Ranges& ranges, const Range& range);

[[nodiscard]] Ranges UnionOf(const Ranges& one, const Ranges& other);

// The parts that are within `window`, whose ends are multiples of the granularity.
[[nodiscard]] Ranges CutTo(const Ranges& ranges, const Range& window);

// Whether the page can be the answer to a question about everything from `offset` on.
// INVALID_ARGUMENT saying why not. `capacity` is that of an earlier page, 0 if there is none.
[[nodiscard]] absl::Status CheckPage(const RangePage& page, Bytes offset, Bytes capacity);

// What has to be true of a question about the snapshot `target` and perhaps a base to compare it
// with. OUT_OF_RANGE: the offset is negative or behind the end; INVALID_ARGUMENT: the offset is no
// multiple of the granularity, or the snapshots are not of the same volume.
[[nodiscard]] absl::Status CheckQuestion(const VolumeRecord& target, const VolumeRecord* base,
                                         Bytes offset);

// The last page about a snapshot whose volume has grown since its base: everything that the base
// did not have has changed.
[[nodiscard]] RangePage PageOfGrowth(Bytes capacity, Bytes offset);

}  // namespace holdfast::pool
