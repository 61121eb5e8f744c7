// SPDX-License-Identifier: Apache-2.0
#include "core/volume.h"

#include <catch2/catch.hpp>
#include <limits>

#include "support/outcome.h"

namespace holdfast {
namespace volume_test {

constexpr Bytes kMax = std::numeric_limits<Bytes>::max();

TEST_CASE("names are read back as the values they stand for, and no other text is") {
  for (const auto value : {Provisioning::kThick, Provisioning::kThin}) {
    CHECK(*ParseProvisioning(ToString(value)) == value);
  }
  for (const auto value : {AccessType::kMount, AccessType::kBlock}) {
    CHECK(*ParseAccessType(ToString(value)) == value);
  }
  for (const auto value : {AccessMode::kSingleNodeWriter, AccessMode::kSingleNodeReaderOnly,
                           AccessMode::kSingleNodeSingleWriter, AccessMode::kSingleNodeMultiWriter,
                           AccessMode::kMultiNodeReaderOnly, AccessMode::kMultiNodeSingleWriter,
                           AccessMode::kMultiNodeMultiWriter}) {
    CHECK(*ParseAccessMode(ToString(value)) == value);
  }
  for (const auto value : {VolumeState::kAllocating, VolumeState::kReady, VolumeState::kFormatting,
                           VolumeState::kFormatted, VolumeState::kDeleting}) {
    CHECK(*ParseVolumeState(ToString(value)) == value);
  }
  CHECK_FAILS(ParseProvisioning("Thick"), kInvalidArgument, "one of: thick, thin");
  CHECK_FAILS(ParseAccessType(""), kInvalidArgument, "one of: mount, block");
  CHECK_FAILS(ParseAccessMode("ANY_NODE_WRITER"), kInvalidArgument, "SINGLE_NODE_WRITER");
  CHECK_FAILS(ParseVolumeState("unknown"), kInvalidArgument, "allocating");
}

TEST_CASE("the stored names never change") {
  CHECK(ToString(Provisioning::kThick) == "thick");
  CHECK(ToString(Provisioning::kThin) == "thin");
  CHECK(ToString(AccessType::kBlock) == "block");
  CHECK(ToString(AccessMode::kSingleNodeSingleWriter) == "SINGLE_NODE_SINGLE_WRITER");
  CHECK(ToString(VolumeState::kFormatted) == "formatted");
}

TEST_CASE("a capacity that satisfies the request") {
  const struct {
    Bytes required, limit, minimum, expected;
  } rows[] = {
      // nothing requested
      {0, 0, 4096, kDefaultVolumeSize},
      {0, 0, 2 * kGiB, 2 * kGiB},
      // at least
      {1, 0, 4096, 4096},
      {4096, 0, 4096, 4096},
      {4097, 0, 4096, 8192},
      {kGiB, 0, 4096, kGiB},
      {1, 0, 16 * kMiB, 16 * kMiB},
      {1, 0, 4097, 8192},
      // exactly
      {8192, 8192, 4096, 8192},
      {4097, 8192, 4096, 8192},
      {1, 4096, 4096, 4096},
      // at most
      {0, 4096, 4096, 4096},
      {0, 8191, 4096, 4096},
      {0, kDefaultVolumeSize - 1, 4096, kDefaultVolumeSize - 4096},
      {0, kDefaultVolumeSize, 4096, kDefaultVolumeSize},
      {0, 5 * kGiB, 4096, kDefaultVolumeSize},
      {0, 5 * kGiB, 2 * kGiB, 2 * kGiB},
      // as large as a number can be
      {kMax / 4096 * 4096, 0, 4096, kMax / 4096 * 4096},
  };
  for (const auto& row : rows) {
    CAPTURE(row.required, row.limit, row.minimum);
    CHECK(test::Value(ChooseCapacity({row.required, row.limit}, row.minimum)) == row.expected);
  }
}

TEST_CASE("no capacity satisfies some requests") {
  const struct {
    Bytes required, limit, minimum;
  } rows[] = {
      {4097, 8191, 4096},  // no multiple in between
      {1, 4095, 1},        // below the smallest
      {0, 4095, 4096},     // below the minimum
      {0, 16 * kMiB - 1, 16 * kMiB},
      {kMiB, 8 * kMiB, 16 * kMiB},  // there is space, but the filesystem needs more
  };
  for (const auto& row : rows) {
    CAPTURE(row.required, row.limit, row.minimum);
    CHECK_FAILS(ChooseCapacity({row.required, row.limit}, row.minimum), kOutOfRange, "limit_bytes");
  }
}

TEST_CASE("no capacity is as large as the largest number") {
  const Bytes most = kMax / 4096 * 4096;
  CHECK_FAILS(ChooseCapacity({most + 1, 0}, 4096), kOutOfRange, "required_bytes");
  CHECK_FAILS(ChooseCapacity({kMax, 0}, 4096), kOutOfRange, "required_bytes");
  CHECK_FAILS(ChooseCapacity({0, 0}, kMax), kOutOfRange, "required_bytes");
  CHECK_FAILS(ChooseCapacity({kMax, kMax}, 4096), kOutOfRange, "required_bytes");
}

TEST_CASE("every capacity lies within what was asked, for all small requests") {
  for (Bytes required = 0; required <= 5; ++required) {
    for (Bytes limit = 0; limit <= 5; ++limit) {
      for (Bytes minimum = 0; minimum <= 5; ++minimum) {
        const Bytes at_least = required * 2048 - required % 2;
        const Bytes at_most = limit * 2048 + limit % 2;
        CAPTURE(at_least, at_most, minimum);
        const auto capacity = ChooseCapacity({at_least, at_most}, minimum * 2048);
        if (!capacity.ok()) continue;
        CHECK(*capacity % kVolumeGranularity == 0);
        CHECK(*capacity >= at_least);
        CHECK(*capacity >= minimum * 2048);
        CHECK((at_most == 0 || *capacity <= at_most));
      }
    }
  }
}

TEST_CASE("capacity ranges") {
  const struct {
    Bytes required, limit;
    absl::StatusCode code;
    const char* named;
  } rows[] = {
      {1, 0, absl::StatusCode::kOk, ""},
      {0, 1, absl::StatusCode::kOk, ""},
      {5, 5, absl::StatusCode::kOk, ""},
      {kMax, kMax, absl::StatusCode::kOk, ""},
      {0, 0, absl::StatusCode::kInvalidArgument, "neither required_bytes nor limit_bytes"},
      {-1, 0, absl::StatusCode::kInvalidArgument, "required_bytes is negative"},
      {-1, 5, absl::StatusCode::kInvalidArgument, "required_bytes is negative"},
      {1, -1, absl::StatusCode::kInvalidArgument, "limit_bytes is negative"},
      {2, 1, absl::StatusCode::kOutOfRange, "limit_bytes 1 is below required_bytes 2"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.required, row.limit);
    const auto parsed = CapacityRange::Parse(row.required, row.limit);
    CHECK(test::CodeOf(parsed) == row.code);
    CHECK_THAT(MessageOf(parsed.status()), Catch::Contains(row.named));
    if (!parsed.ok()) continue;
    CHECK(parsed->required == row.required);
    CHECK(parsed->limit == row.limit);
  }
}

}  // namespace volume_test
}  // namespace holdfast
