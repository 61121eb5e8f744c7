// SPDX-License-Identifier: Apache-2.0
#include "core/volume_id.h"

#include <uuid/uuid.h>

#include <algorithm>
#include <cctype>

namespace holdfast {
namespace {

constexpr std::size_t kMaxPoolName = 24;
constexpr std::size_t kMaxNodeId = 63;
constexpr std::size_t kUuidText = 36;
constexpr std::string_view kSnapshotPrefix = "s:";
constexpr std::string_view kGroupPrefix = "g:";
constexpr char kGroups[] = "4d3ae8c4-1f53-4c5b-9a55-6d1c5f0e7b21";  // name space of drivers' names

bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string ToText(const uuid_t value) {
  char text[kUuidText + 1];
  uuid_unparse_lower(value, text);
  return text;
}

}  // namespace

std::string VolumeId::ToString() const { return fmt::format("{}:{}:{}", pool, node, uuid); }

std::optional<VolumeId> VolumeId::Parse(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  VolumeId id{.pool = std::string(text.substr(0, first)),
              .node = std::string(text.substr(first + 1, last - first - 1)),
              .uuid = std::string(text.substr(last + 1))};
  const bool has_node = id.node.empty() || ValidateNodeId(id.node).ok();
  if (!ValidatePoolName(id.pool).ok() || !has_node || !IsUuid(id.uuid)) return std::nullopt;
  return id;
}

std::string ToSnapshotId(const VolumeId& place) {
  return std::string(kSnapshotPrefix) + place.ToString();
}

std::optional<VolumeId> ParseSnapshotId(std::string_view text) {
  if (!text.starts_with(kSnapshotPrefix)) return std::nullopt;
  return VolumeId::Parse(text.substr(kSnapshotPrefix.size()));
}

std::string GroupIdOf(const std::string& driver_name, std::string_view name) {
  const std::string groups_of_driver = *UuidOfName(kGroups, driver_name);
  return std::string(kGroupPrefix) + *UuidOfName(groups_of_driver, name);
}

bool IsGroupId(std::string_view text) {
  return text.starts_with(kGroupPrefix) && IsUuid(text.substr(kGroupPrefix.size()));
}

std::optional<std::string> GroupOfMemberName(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || !IsUuid(name.substr(slash + 1))) return std::nullopt;
  const std::string_view group = name.substr(0, slash);
  return IsGroupId(group) ? std::optional(std::string(group)) : std::nullopt;
}

std::string GroupMemberName(const std::string& group_id, const std::string& volume_uuid) {
  return fmt::format("{}/{}", group_id, volume_uuid);
}

absl::Status ValidatePoolName(std::string_view name) {
  const auto allowed = [](char c) { return std::islower(c) || std::isdigit(c) || c == '-'; };
  if (name.empty() || name.size() > kMaxPoolName || !std::ranges::all_of(name, allowed) ||
      name.front() == '-' || name.back() == '-') {
    return InvalidArgument("pool name '{}' must be 1 to {} characters of a-z, 0-9 and inner '-'",
                           name, kMaxPoolName);
  }
  return absl::OkStatus();
}

absl::Status ValidateNodeId(std::string_view node_id) {
  const auto allowed = [](char c) { return IsAlphanumeric(c) || c == '.' || c == '_' || c == '-'; };
  if (node_id.empty() || node_id.size() > kMaxNodeId || !std::ranges::all_of(node_id, allowed) ||
      !IsAlphanumeric(node_id.front()) || !IsAlphanumeric(node_id.back())) {
    return InvalidArgument(
        "node id '{}' must be 1 to {} characters of A-Z, a-z, 0-9 and inner '.', '_', '-'", node_id,
        kMaxNodeId);
  }
  return absl::OkStatus();
}

bool IsUuid(std::string_view text) {
  uuid_t value;
  if (text.size() != kUuidText) return false;
  const std::string copy(text);
  return uuid_parse(copy.c_str(), value) == 0 && ToText(value) == copy;
}

absl::StatusOr<std::string> UuidOfName(const std::string& pool_id, std::string_view name) {
  uuid_t name_space;
  if (uuid_parse(pool_id.c_str(), name_space) != 0) {
    return Internal("pool id '{}' is not a UUID", pool_id);
  }
  uuid_t value;
  uuid_generate_sha1(value, name_space, name.data(), name.size());
  return ToText(value);
}

absl::StatusOr<std::string> SnapshotNameSpace(const std::string& pool_id) {
  if (pool_id.empty()) return std::string();
  return UuidOfName(pool_id, kSnapshots);
}

std::string RandomUuid() {
  uuid_t value;
  uuid_generate_random(value);
  return ToText(value);
}

}  // namespace holdfast
