// SPDX-License-Identifier: Apache-2.0
#include "controller/range_messages.h"

namespace holdfast::controller {
namespace {

constexpr std::size_t kLongestRangeVersion = 256;

absl::StatusOr<VolumeId> ParsePlace(const std::string& snapshot) {
  const auto id = ParseSnapshotId(snapshot);
  if (!id) return NotFound("there is no snapshot '{}'", snapshot);
  return *id;
}

}  // namespace

absl::StatusOr<SnapshotPlaces> ParsePlaces(const RangesQuestion& question) {
  SnapshotPlaces places;
  ASSIGN_OR_RETURN(places.snapshot, ParsePlace(question.snapshot));
  if (!question.base) return places;
  ASSIGN_OR_RETURN(places.base, ParsePlace(*question.base));
  if (places.base->pool == places.snapshot.pool && places.base->node == places.snapshot.node) {
    return places;
  }
  return InvalidArgument(
      "base_snapshot_id '{}' and target_snapshot_id '{}' are snapshots of two volumes",
      *question.base, question.snapshot);
}

link::v1::FindRanges ToMessage(const RangesQuestion& question) {
  link::v1::FindRanges message;
  message.set_snapshot(question.snapshot);
  message.set_base(question.base.value_or(""));
  message.set_offset(question.offset);
  return message;
}

RangesQuestion ParseQuestion(const link::v1::FindRanges& message) {
  RangesQuestion question{.snapshot = message.snapshot(), .offset = message.offset()};
  if (!message.base().empty()) question.base = message.base();
  return question;
}

link::v1::Ranges ToMessage(const pool::RangePage& page) {
  link::v1::Ranges message;
  message.set_capacity_bytes(page.capacity);
  message.set_next(page.next);
  message.set_version(page.version);
  for (const pool::Range& range : page.ranges) {
    message.add_bounds(range.begin);
    message.add_bounds(range.end);
  }
  return message;
}

absl::StatusOr<pool::RangePage> ParsePage(const link::v1::Ranges& message, Bytes offset) {
  if (message.bounds_size() % 2 != 0) return InvalidArgument("a range has no end");
  pool::RangePage page{.capacity = message.capacity_bytes(), .ranges = {}, .next = message.next()};
  for (int i = 0; i < message.bounds_size(); i += 2) {
    page.ranges.push_back({message.bounds(i), message.bounds(i + 1)});
  }
  if (message.version().size() > kLongestRangeVersion)
    return InvalidArgument("its version is too long");
  page.version = message.version();
  RETURN_IF_ERROR(CheckPage(page, offset, /*capacity=*/0));
  return page;
}

}  // namespace holdfast::controller
