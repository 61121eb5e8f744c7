// SPDX-License-Identifier: Apache-2.0
#include "core/trash_id.h"

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::size_t kUuidLength = 36;
constexpr char kSeparator = '.';
constexpr char kTimeForm[] = "%E4Y%m%dT%H%M%SZ";

// The first and the last second that the form can say.
const absl::Time kEarliest = absl::UnixEpoch();
const absl::Time kLatest =
    absl::FromCivil(absl::CivilSecond(9999, 12, 31, 23, 59, 59), absl::UTCTimeZone());

std::string TimeText(absl::Time time) {
  return absl::FormatTime(kTimeForm, std::clamp(time, kEarliest, kLatest), absl::UTCTimeZone());
}

std::optional<absl::Time> ParseTimeText(std::string_view text) {
  absl::Time time;
  if (!absl::ParseTime(kTimeForm, std::string(text), &time, nullptr)) return std::nullopt;
  return TimeText(time) == text ? std::optional(time) : std::nullopt;
}

}  // namespace

std::string TrashId::ToString() const { return fmt::format("{}:{}:{}", pool, node, key); }

VolumeId TrashId::place() const {
  return {.pool = pool, .node = node, .uuid = UuidOfTrashKey(key)};
}

std::optional<TrashId> TrashId::Parse(std::string_view text) {
  const std::size_t last = text.rfind(':');
  if (last == std::string_view::npos || !IsTrashKey(text.substr(last + 1))) return std::nullopt;
  const auto place = VolumeId::Parse(text.substr(0, last + 1 + kUuidLength));
  if (!place) return std::nullopt;
  return TrashId{
      .pool = place->pool, .node = place->node, .key = std::string(text.substr(last + 1))};
}

std::string TrashKey(const std::string& uuid, absl::Time deleted_at) {
  return uuid + kSeparator + TimeText(deleted_at);
}

bool IsTrashKey(std::string_view key) {
  return key.size() > kUuidLength && key[kUuidLength] == kSeparator &&
         IsUuid(key.substr(0, kUuidLength)) &&
         ParseTimeText(key.substr(kUuidLength + 1)).has_value();
}

std::string UuidOfTrashKey(const std::string& key) { return key.substr(0, kUuidLength); }

absl::Time TimeOfTrashKey(const std::string& key) {
  return ParseTimeText(std::string_view(key).substr(kUuidLength + 1)).value_or(kEarliest);
}

}  // namespace holdfast
