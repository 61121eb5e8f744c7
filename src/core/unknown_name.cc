// SPDX-License-Identifier: Apache-2.0
#include "core/unknown_name.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <vector>

namespace holdfast {
namespace {

constexpr std::size_t kLongestCompared = 64;  // the cost is quadratic, and no known name is longer

std::string Letters(std::string_view name) {
  std::string letters;
  for (const unsigned char c : name) {
    if (c != '-' && c != '_') letters.push_back(static_cast<char>(std::tolower(c)));
  }
  return letters;
}

// How many letters must be inserted, deleted, replaced or exchanged with their neighbour to turn
// `a` into `b` (optimal string alignment).
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);  // the rows for a's letters up to i - 2, i - 1, i
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string_view> ClosestName(std::string_view name,
                                            std::span<const std::string_view> known) {
  const std::string letters = Letters(name);
  if (letters.empty() || letters.size() > kLongestCompared) return std::nullopt;
  std::optional<std::string_view> closest;
  std::size_t least = 0;
  for (const std::string_view candidate : known) {
    const std::string other = Letters(candidate);
    const std::size_t distance = Distance(letters, other);
    if (distance * 3 > std::max(letters.size(), other.size())) continue;
    if (closest && distance >= least) continue;
    closest = candidate;
    least = distance;
  }
  return closest;
}

absl::Status UnknownName(std::string_view what, std::string_view name,
                         std::span<const std::string_view> known) {
  if (const auto closest = ClosestName(name, known)) {
    return InvalidArgument("unknown {} '{}'; did you mean '{}'?", what, name, *closest);
  }
  return InvalidArgument("unknown {} '{}'; known: {}", what, name, fmt::join(known, ", "));
}

}  // namespace holdfast
