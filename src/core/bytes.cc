// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace holdfast {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 9> kSuffixes = {{
    {"", 1.0},
    {"Ki", 0x1p10},
    {"Mi", 0x1p20},
    {"Gi", 0x1p30},
    {"Ti", 0x1p40},
    {"k", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
}};

}  // namespace

absl::StatusOr<Bytes> ParseBytes(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view suffix(end, text.data() + text.size() - end);
  if (error == std::errc() && number >= 0) {
    for (const auto& [name, factor] : kSuffixes) {
      if (suffix != name) continue;
      // 2^63 itself is not representable; anything below it is.
      if (number * factor < 0x1p63) return static_cast<Bytes>(std::floor(number * factor));
    }
  }
  return InvalidArgument("'{}' is not a size (examples: 4096, 64Mi, 10Gi, 1.5Ti)", text);
}

std::string FormatBytes(Bytes value) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (value < kKiB) return fmt::format("{} B", value);
  double scaled = static_cast<double>(value) / 1024;
  std::size_t unit = 0;
  while (scaled >= 1024 && unit + 1 < kUnits.size()) {
    scaled /= 1024;
    ++unit;
  }
  const double rounded = std::round(scaled * 10) / 10;
  if (rounded == std::floor(rounded)) return fmt::format("{:.0f} {}", rounded, kUnits[unit]);
  return fmt::format("{:.1f} {}", rounded, kUnits[unit]);
}

}  // namespace holdfast
