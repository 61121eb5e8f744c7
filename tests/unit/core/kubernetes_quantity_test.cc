// SPDX-License-Identifier: Apache-2.0
#include "core/kubernetes_quantity.h"

#include <catch2/catch.hpp>
#include <limits>

namespace holdfast {
namespace kubernetes_quantity_test {

TEST_CASE("a quantity is what Kubernetes takes it for") {
  const auto [text, bytes] = GENERATE(table<std::string, Bytes>({
      {"0", 0},
      {"67108864", 67108864},
      {"64Mi", 64 * kMiB},
      {"20Gi", 20 * kGiB},
      {"1.5Gi", kGiB + kGiB / 2},
      {".5Ki", 512},
      {"5.Ki", 5 * 1024},
      {"+1k", 1000},
      {"1G", 1'000'000'000},
      {"128974848e0", 128974848},
      {"129e6", 129'000'000},
      {"129E+6", 129'000'000},
      {"1E", 1'000'000'000'000'000'000},
      {"7Ei", 7 * (Bytes{1} << 60)},
      {"123450e-1", 12345},
      {"1500m", 2},
      {"1n", 1},
      {"0.1", 1},
      {"9223372036854775807", std::numeric_limits<Bytes>::max()},
  }));
  CAPTURE(text);
  const auto parsed = ParseQuantity(text);
  REQUIRE(parsed.ok());
  CHECK(*parsed == bytes);
}

TEST_CASE("other text is no quantity") {
  const std::string text =
      GENERATE(as<std::string>{}, "", "Gi", "-1", "1 Gi", " 1", "1Gi ", "1gi", "1K", "1e", "1e+",
               "1e 3", "1e99", "1..5", "1.5.5", "0x10", "9223372036854775808", "8Ei",
               "999999999999999999999", "1e99999999999999", "ten", std::string("1\0", 2));
  CAPTURE(text);
  CHECK(ParseQuantity(text).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a size is written exactly, with the largest suffix") {
  CHECK(FormatQuantity(0) == "0");
  CHECK(FormatQuantity(20 * kGiB) == "20Gi");
  CHECK(FormatQuantity(kGiB + kMiB) == "1025Mi");
  CHECK(FormatQuantity(kMiB + 4096) == "1028Ki");
  CHECK(FormatQuantity(4097) == "4097");
  CHECK(FormatQuantity(Bytes{1} << 60) == "1Ei");
  const Bytes size = GENERATE(as<Bytes>{}, 1, 1023, 300 * kMiB, 12'345'678'912, 5 * kTiB + 4096);
  CHECK(ParseQuantity(FormatQuantity(size)).value() == size);
}

}  // namespace kubernetes_quantity_test
}  // namespace holdfast
