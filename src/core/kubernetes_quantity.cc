// SPDX-License-Identifier: Apache-2.0
#include "core/kubernetes_quantity.h"

#include <absl/numeric/int128.h>
#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace holdfast {
namespace {

struct Scale {
  std::string_view suffix;
  int base = 10;
  int exponent = 0;
};

constexpr std::array kScales = {
    Scale{"", 10, 0},   Scale{"n", 10, -9}, Scale{"u", 10, -6}, Scale{"m", 10, -3},
    Scale{"k", 10, 3},  Scale{"M", 10, 6},  Scale{"G", 10, 9},  Scale{"T", 10, 12},
    Scale{"P", 10, 15}, Scale{"E", 10, 18}, Scale{"Ki", 2, 10}, Scale{"Mi", 2, 20},
    Scale{"Gi", 2, 30}, Scale{"Ti", 2, 40}, Scale{"Pi", 2, 50}, Scale{"Ei", 2, 60}};

// With these the products below fit into 128 bits.
constexpr std::size_t kMostDigits = 20;
constexpr int kMostExponent = 18;

// "e6", "E-3"
std::optional<Scale> ExponentOf(std::string_view suffix) {
  if (!suffix.starts_with('e') && !suffix.starts_with('E')) return std::nullopt;
  std::string_view number = suffix.substr(1);
  if (number.starts_with('+') || number.starts_with('-')) number.remove_prefix(1);
  Scale scale;
  const bool digits = std::ranges::all_of(number, [](unsigned char c) { return absl::ascii_isdigit(c); });
  if (!digits || !absl::SimpleAtoi(std::string(number), &scale.exponent)) return std::nullopt;
  if (scale.exponent > kMostExponent) return std::nullopt;
  if (suffix[1] == '-') scale.exponent = -scale.exponent;
  return scale;
}

std::optional<Scale> ScaleOf(std::string_view suffix) {
  const auto* const known = std::ranges::find(kScales, suffix, &Scale::suffix);
  return known != kScales.end() ? *known : ExponentOf(suffix);
}

absl::uint128 Power(int base, int exponent) {
  absl::uint128 power = 1;
  for (; exponent > 0; --exponent) power *= static_cast<unsigned>(base);
  return power;
}

absl::Status NotAQuantity(std::string_view text) {
  return InvalidArgument("'{}' is not a size in Kubernetes' terms (examples: 20Gi, 1.5G)",
                         text.substr(0, 2 * kMostDigits));
}

}  // namespace

absl::StatusOr<Bytes> ParseQuantity(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with('+')) rest.remove_prefix(1);
  std::string digits;
  int fraction = -1;  // digits behind the point; -1: there is none
  for (; !rest.empty(); rest.remove_prefix(1)) {
    const char character = rest.front();
    if (character == '.' && fraction < 0) {
      fraction = 0;
    } else if (absl::ascii_isdigit(static_cast<unsigned char>(character))) {
      digits += character;
      if (fraction >= 0) ++fraction;
    } else {
      break;
    }
  }
  const std::optional<Scale> scale = ScaleOf(rest);
  absl::uint128 value = 0;
  if (digits.empty() || digits.size() > kMostDigits || !scale ||
      !absl::SimpleAtoi(digits, &value)) {
    return NotAQuantity(text);
  }
  absl::uint128 divisor = Power(10, std::max(fraction, 0));
  if (scale->exponent < 0) divisor *= Power(10, -scale->exponent);
  value *= Power(scale->base, scale->exponent);
  value = value / divisor + (value % divisor != 0 ? 1 : 0);
  if (value > static_cast<absl::uint128>(std::numeric_limits<Bytes>::max())) {
    return NotAQuantity(text);
  }
  return static_cast<Bytes>(value);
}

std::string FormatQuantity(Bytes size) {
  const Scale* best = &kScales.front();
  for (const Scale& scale : kScales) {
    if (scale.base != 2) continue;
    if (size > 0 && size % (Bytes{1} << scale.exponent) == 0) best = &scale;
  }
  const Bytes unit = best->base == 2 ? Bytes{1} << best->exponent : 1;
  return fmt::format("{}{}", size / unit, best->suffix);
}

}  // namespace holdfast
