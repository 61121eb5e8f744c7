// SPDX-License-Identifier: Apache-2.0
#include "core/topology_segment.h"

#include <algorithm>
#include <cctype>

namespace holdfast {
namespace {

constexpr std::size_t kMaxPart = 63;

bool IsAlphanumeric(unsigned char c) { return std::isalnum(c) != 0; }
bool IsLower(unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0; }

// Up to 63 characters, first and last of `bound`; between them also those of `between`.
bool IsPart(std::string_view text, bool (*bound)(unsigned char), std::string_view between) {
  const auto inner = [&](char c) { return bound(c) || between.find(c) != between.npos; };
  return !text.empty() && text.size() <= kMaxPart && bound(text.front()) && bound(text.back()) &&
         std::ranges::all_of(text, inner);
}

// Labels between dots, none of them empty or with a dash at an end (RFC 1035, 2.3.1, and with
// digits in front as everywhere since RFC 1123).
bool IsDomain(std::string_view text) {
  while (true) {
    const std::string_view label = text.substr(0, text.find('.'));
    if (!IsPart(label, IsLower, "-")) return false;
    if (label.size() == text.size()) return true;
    text.remove_prefix(label.size() + 1);
  }
}

absl::Status CheckKey(std::string_view key) {
  const std::size_t slash = key.find('/');
  const bool has_prefix = slash != std::string_view::npos;
  const std::string_view prefix = has_prefix ? key.substr(0, slash) : std::string_view();
  if (has_prefix && (prefix.size() > kMaxPart || !IsDomain(prefix))) {
    return InvalidArgument(
        "prefix '{}' of key '{}' must be a domain name in lower case, of at most {} characters",
        prefix, key, kMaxPart);
  }
  const std::string_view name = has_prefix ? key.substr(slash + 1) : key;
  if (IsPart(name, IsAlphanumeric, "-_.")) return absl::OkStatus();
  return InvalidArgument(
      "name '{}' of key '{}' must be 1 to {} characters of A-Z, a-z, 0-9, '-', '_' and '.', the "
      "first and the last alphanumeric",
      name, key, kMaxPart);
}

}  // namespace

std::string NodeTopologyKey(const std::string& driver_name) {
  return "topology." + driver_name + "/node";
}

absl::StatusOr<TopologySegment> ParseTopologySegment(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return InvalidArgument("'{}' must be KEY=VALUE, such as topology.kubernetes.io/zone=a", text);
  }
  TopologySegment segment{std::string(text.substr(0, equals)),
                          std::string(text.substr(equals + 1))};
  RETURN_IF_ERROR(CheckKey(segment.key));
  if (segment.value.empty() || IsPart(segment.value, IsAlphanumeric, "-_.")) return segment;
  return InvalidArgument(
      "value '{}' of key '{}' must be 1 to {} characters of A-Z, a-z, 0-9, '-', '_' and '.', the "
      "first and the last alphanumeric",
      segment.value, segment.key, kMaxPart);
}

absl::StatusOr<std::vector<TopologySegment>> ParseNodeTopology(
    const std::vector<std::string>& texts) {
  std::vector<TopologySegment> segments;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(TopologySegment segment, ParseTopologySegment(text));
    if (segment.value.empty()) continue;
    for (const TopologySegment& other : segments) {
      if (!IsSameTopologyKey(other.key, segment.key)) continue;
      return InvalidArgument("key '{}' is given twice, with '{}' and '{}'", segment.key,
                             other.value, segment.value);
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

bool IsSameTopologyKey(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace holdfast
