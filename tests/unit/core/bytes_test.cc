// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace holdfast {
namespace bytes_test {

constexpr Bytes kMax = std::numeric_limits<Bytes>::max();

TEST_CASE("AlignUp and AlignDown") {
  struct Row {
    Bytes value, alignment, up, down;
  };
  const auto row = GENERATE(values<Row>({
      {0, 4096, 0, 0},
      {1, 4096, 4096, 0},
      {4095, 4096, 4096, 0},
      {4096, 4096, 4096, 4096},
      {4097, 4096, 8192, 4096},
      {7, 1, 7, 7},
      {10, 3, 12, 9},
      {kMax, 1, kMax, kMax},
      {kMax, 4096, kMax - 4095, kMax - 4095},
      {kMax - 4095, 4096, kMax - 4095, kMax - 4095},
      {kMax - 4096, 4096, kMax - 4095, kMax - 4095 - 4096},
  }));
  CAPTURE(row.value, row.alignment);
  CHECK(AlignUp(row.value, row.alignment) == row.up);
  CHECK(AlignDown(row.value, row.alignment) == row.down);
}

TEST_CASE("ParseBytes accepts Kubernetes' sizes") {
  const auto [text, expected] = GENERATE(values<std::pair<std::string, Bytes>>({
      {"0", 0},
      {"1", 1},
      {"4096", 4096},
      {"64Ki", 64 * kKiB},
      {"10Mi", 10 * kMiB},
      {"1.5Gi", kGiB + kGiB / 2},
      {"2Ti", 2 * kTiB},
      {"0.5Ki", 512},
      {"5k", 5'000},
      {"5M", 5'000'000},
      {"10G", 10'000'000'000},
      {"3T", 3'000'000'000'000},
  }));
  CAPTURE(text);
  const absl::StatusOr<Bytes> value = ParseBytes(text);
  REQUIRE(value.ok());
  CHECK(*value == expected);
}

TEST_CASE("ParseBytes refuses everything else") {
  const auto* text =
      GENERATE("", " ", "Gi", "-1", "-1Gi", "+1", " 1", "1 ", "1 Gi", "1GiB", "1gi", "1K", "1B",
               "1e3", "0x10", "1.2.3", "1,5Gi", "inf", "nan", "8388608Ti", "99999999999999999999");
  CAPTURE(text);
  const absl::StatusOr<Bytes> value = ParseBytes(text);
  REQUIRE_FALSE(value.ok());
  CHECK(value.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(MessageOf(value.status()), Catch::Contains(fmt::format("'{}'", text)));
}

TEST_CASE("FormatBytes writes for people") {
  const auto [value, expected] = GENERATE(values<std::pair<Bytes, std::string>>({
      {0, "0 B"},
      {512, "512 B"},
      {1023, "1023 B"},
      {kKiB, "1 KiB"},
      {1536, "1.5 KiB"},
      {10 * kMiB, "10 MiB"},
      {kGiB + kGiB / 2, "1.5 GiB"},
      {kGiB + 1, "1 GiB"},
      {2 * kTiB, "2 TiB"},
      {kMax, "8 EiB"},
  }));
  CHECK(FormatBytes(value) == expected);
}

}  // namespace bytes_test
}  // namespace holdfast
