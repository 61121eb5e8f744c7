// SPDX-License-Identifier: Apache-2.0
#include "controller/snapshot_metadata_service.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::controller {
namespace snapshot_metadata_service_test {

using pool::Range;
using pool::RangePage;
using pool::Ranges;

constexpr Bytes kUnit = pool::kRangeGranularity;
constexpr Bytes kCapacity = 64 * kUnit;
constexpr char kSnapshot[] = "s:default:n1:11111111-2222-3333-4444-555555555555";

Range Of(Bytes begin, Bytes end) { return {begin * kUnit, end * kUnit}; }

// Answers from `ranges`, in pages of three units.
struct Fixture {
  Ranges ranges{Of(1, 2), Of(3, 8), Of(9, 10), Of(20, 41), Of(60, 64)};
  std::vector<RangesQuestion> asked;
  rpc::CallRunner calls;
  SnapshotMetadataService service{
      calls, [this](const RangesQuestion& question, link::Deadline) { return Answer(question); }};
  std::function<absl::StatusOr<RangePage>(const RangesQuestion&)> lie;

  absl::StatusOr<RangePage> Answer(const RangesQuestion& question) {
    asked.push_back(question);
    if (lie) return lie(question);
    RangePage page{.capacity = kCapacity,
                   .ranges = {},
                   .next = std::min(kCapacity, question.offset + 3 * kUnit)};
    page.ranges = CutTo(ranges, {question.offset, page.next});
    return page;
  }

  struct Stream {
    Ranges ranges;
    int messages = 0;
    int longest = 0;
  };
  static absl::Status Take(const auto& message, Stream& stream) {
    CHECK(message.block_metadata_type() == csi::v1::VARIABLE_LENGTH);
    CHECK(message.volume_capacity_bytes() == kCapacity);
    ++stream.messages;
    stream.longest = std::max(stream.longest, message.block_metadata_size());
    for (const auto& extent : message.block_metadata()) {
      const Bytes last = stream.ranges.empty() ? 0 : stream.ranges.back().end;
      CHECK(extent.size_bytes() > 0);
      CHECK(extent.byte_offset() >= last);
      stream.ranges.push_back({extent.byte_offset(), extent.byte_offset() + extent.size_bytes()});
    }
    return absl::OkStatus();
  }
  absl::StatusOr<Stream> Allocated(Bytes offset = 0, int most = 0) {
    csi::v1::GetMetadataAllocatedRequest request;
    request.set_snapshot_id(kSnapshot);
    request.set_starting_offset(offset);
    request.set_max_results(most);
    Stream stream;
    RETURN_IF_ERROR(service.Allocated(
        request, {.send = [&](const auto& message) { return Take(message, stream).ok(); }}));
    return stream;
  }
  absl::StatusOr<Stream> Delta(const std::string& base, const std::string& target) {
    csi::v1::GetMetadataDeltaRequest request;
    request.set_base_snapshot_id(base);
    request.set_target_snapshot_id(target);
    Stream stream;
    RETURN_IF_ERROR(service.Delta(
        request, {.send = [&](const auto& message) { return Take(message, stream).ok(); }}));
    return stream;
  }
};

TEST_CASE_METHOD(Fixture, "ranges of many pages are one stream, joined where they touch") {
  const Stream stream = test::Value(Allocated());
  CHECK(stream.ranges == ranges);
  REQUIRE(asked.size() == 22);
  CHECK(asked.front().snapshot == kSnapshot);
  CHECK_FALSE(asked.front().base);
}

TEST_CASE_METHOD(Fixture, "messages are no longer than the caller wants") {
  lie = [this](const RangesQuestion&) {
    return RangePage{.capacity = kCapacity, .ranges = ranges, .next = kCapacity};
  };
  CHECK(test::Value(Allocated()).messages == 1);
  const Stream two = test::Value(Allocated(0, 2));
  CHECK(two.ranges == ranges);
  CHECK((two.messages == 3 && two.longest == 2));
  CHECK(test::Value(Allocated(0, 1)).messages == 5);
}

TEST_CASE_METHOD(Fixture, "a stream that begins anywhere ends as the whole one") {
  for (Bytes offset = 0; offset <= kCapacity; offset += 512) {
    Ranges wanted;
    const Range window{AlignDown(offset, kUnit), kCapacity};
    for (const Range& range : CutTo(ranges, window)) {
      if (range.end > offset) wanted.push_back(range);
    }
    CHECK(test::Value(Allocated(offset)).ranges == wanted);
  }
}

TEST_CASE_METHOD(Fixture, "what cannot be asked is refused") {
  CHECK_FAILS(Allocated(-1), kOutOfRange, "starting_offset");
  CHECK_FAILS(Allocated(0, -1), kInvalidArgument, "max_results");
  CHECK_FAILS(Delta("", kSnapshot), kInvalidArgument, "base_snapshot_id");
  CHECK_FAILS(Delta(kSnapshot, ""), kInvalidArgument, "target_snapshot_id");
  CHECK(asked.empty());
  CHECK(test::Value(Delta(kSnapshot, kSnapshot)).ranges == ranges);
  CHECK(asked.front().base == kSnapshot);
  CHECK_FAILS(ParsePlaces({.snapshot = "x"}), kNotFound, "no snapshot");
  CHECK_FAILS(ParsePlaces({.snapshot = kSnapshot, .base = "x"}), kNotFound, "no snapshot");
  const std::string elsewhere = "s:default:n2:11111111-2222-3333-4444-555555555555";
  CHECK_FAILS(ParsePlaces({.snapshot = kSnapshot, .base = elsewhere}), kInvalidArgument,
              "two volumes");
}

TEST_CASE_METHOD(Fixture, "a stream ends with the first error, or when its caller leaves") {
  lie = [this](const RangesQuestion& question) -> absl::StatusOr<RangePage> {
    if (question.offset > 0) return Unavailable("the node is gone");
    return RangePage{.capacity = kCapacity, .ranges = {Of(0, 1)}, .next = 3 * kUnit};
  };
  CHECK_FAILS(Allocated(), kUnavailable, "the node is gone");
  lie = [](const RangesQuestion& question) {
    const Bytes capacity = kCapacity + question.offset;
    return RangePage{.capacity = capacity, .ranges = {}, .next = question.offset + kUnit};
  };
  CHECK(test::CodeOf(Allocated()) == absl::StatusCode::kInternal);
  lie = [](const RangesQuestion& question) {
    return RangePage{.capacity = kCapacity,
                     .ranges = {},
                     .next = question.offset + kUnit,
                     .version = question.offset == 0 ? "one" : "other"};
  };
  CHECK_FAILS(Allocated(), kAborted, "was replaced");
  lie = nullptr;
  csi::v1::GetMetadataAllocatedRequest request;
  request.set_snapshot_id(kSnapshot);
  const auto taken = [](const auto&) { return true; };
  CHECK(test::CodeOf(service.Allocated(request, {.send = [](const auto&) { return false; }})) ==
        absl::StatusCode::kCancelled);
  CHECK(test::CodeOf(service.Allocated(request, {.send = taken, .is_waiting = [] {
                                                   return false;
                                                 }})) == absl::StatusCode::kCancelled);
}

TEST_CASE("pages travel over the link as they are, and are checked") {
  const RangePage page{.capacity = kCapacity,
                       .ranges = {Of(1, 2), Of(3, 4)},
                       .next = 5 * kUnit,
                       .version = "one and other"};
  const RangePage same = test::Value(ParsePage(ToMessage(page), 0));
  CHECK(same.version == page.version);
  CHECK((same.capacity == page.capacity && same.ranges == page.ranges && same.next == page.next));
  CHECK(test::CodeOf(ParsePage(ToMessage(page), 2 * kUnit)) == absl::StatusCode::kInvalidArgument);
  link::v1::Ranges odd = ToMessage(page);
  odd.mutable_bounds()->RemoveLast();
  CHECK_FAILS(ParsePage(odd, 0), kInvalidArgument, "has no end");
  const RangesQuestion question{.snapshot = kSnapshot, .base = "b", .offset = 5};
  const RangesQuestion read = ParseQuestion(ToMessage(question));
  CHECK((read.snapshot == kSnapshot && read.base == "b" && read.offset == 5));
  CHECK_FALSE(ParseQuestion(ToMessage(RangesQuestion{.snapshot = kSnapshot})).base);
}

}  // namespace snapshot_metadata_service_test
}  // namespace holdfast::controller
