// SPDX-License-Identifier: Apache-2.0
#include "core/volume.h"

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast {
namespace {

template <typename Enum, std::size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<Provisioning, 2> kProvisioning = {{
    {Provisioning::kThick, "thick"},
    {Provisioning::kThin, "thin"},
}};
constexpr Names<AccessType, 2> kAccessTypes = {{
    {AccessType::kMount, "mount"},
    {AccessType::kBlock, "block"},
}};
constexpr Names<AccessMode, 7> kAccessModes = {{
    {AccessMode::kSingleNodeWriter, "SINGLE_NODE_WRITER"},
    {AccessMode::kSingleNodeReaderOnly, "SINGLE_NODE_READER_ONLY"},
    {AccessMode::kSingleNodeSingleWriter, "SINGLE_NODE_SINGLE_WRITER"},
    {AccessMode::kSingleNodeMultiWriter, "SINGLE_NODE_MULTI_WRITER"},
    {AccessMode::kMultiNodeReaderOnly, "MULTI_NODE_READER_ONLY"},
    {AccessMode::kMultiNodeSingleWriter, "MULTI_NODE_SINGLE_WRITER"},
    {AccessMode::kMultiNodeMultiWriter, "MULTI_NODE_MULTI_WRITER"},
}};
constexpr Names<VolumeState, 9> kStates = {{
    {VolumeState::kAllocating, "allocating"},
    {VolumeState::kReady, "ready"},
    {VolumeState::kFormatting, "formatting"},
    {VolumeState::kFormatted, "formatted"},
    {VolumeState::kInherited, "inherited"},
    {VolumeState::kCopying, "copying"},
    {VolumeState::kCut, "cut"},
    {VolumeState::kDeleting, "deleting"},
    {VolumeState::kTrashed, "trashed"},
}};

constexpr Names<VolumeRole, 2> kRoles = {{
    {VolumeRole::kVolume, "volume"},
    {VolumeRole::kSnapshot, "snapshot"},
}};

template <typename Enum, std::size_t N>
std::string_view NameOf(const Names<Enum, N>& names, Enum value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "unknown";
}

template <typename Enum, std::size_t N>
absl::StatusOr<Enum> ValueOf(const Names<Enum, N>& names, std::string_view text,
                             std::string_view what) {
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  std::string choices;
  for (const auto& [value, name] : names) {
    choices += fmt::format("{}{}", choices.empty() ? "" : ", ", name);
  }
  return InvalidArgument("{} '{}' must be one of: {}", what, text, choices);
}

}  // namespace

std::string_view ToString(Provisioning value) { return NameOf(kProvisioning, value); }
std::string_view ToString(AccessType value) { return NameOf(kAccessTypes, value); }
std::string_view ToString(AccessMode value) { return NameOf(kAccessModes, value); }
std::string_view ToString(VolumeState value) { return NameOf(kStates, value); }
std::string_view ToString(VolumeRole value) { return NameOf(kRoles, value); }

std::string ContentSource::ToString() const {
  return role == VolumeRole::kSnapshot ? ToSnapshotId(id) : id.ToString();
}

absl::StatusOr<Provisioning> ParseProvisioning(std::string_view text) {
  return ValueOf(kProvisioning, text, "provisioning");
}
absl::StatusOr<AccessType> ParseAccessType(std::string_view text) {
  return ValueOf(kAccessTypes, text, "access type");
}
absl::StatusOr<AccessMode> ParseAccessMode(std::string_view text) {
  return ValueOf(kAccessModes, text, "access mode");
}
absl::StatusOr<VolumeState> ParseVolumeState(std::string_view text) {
  return ValueOf(kStates, text, "volume state");
}
absl::StatusOr<VolumeRole> ParseVolumeRole(std::string_view text) {
  return ValueOf(kRoles, text, "role");
}

absl::StatusOr<CapacityRange> CapacityRange::Parse(std::int64_t required_bytes,
                                                   std::int64_t limit_bytes) {
  if (required_bytes < 0) return InvalidArgument("capacity_range.required_bytes is negative");
  if (limit_bytes < 0) return InvalidArgument("capacity_range.limit_bytes is negative");
  if (required_bytes == 0 && limit_bytes == 0) {
    return InvalidArgument("capacity_range has neither required_bytes nor limit_bytes");
  }
  if (limit_bytes != 0 && limit_bytes < required_bytes) {
    return OutOfRange("capacity_range.limit_bytes {} is below required_bytes {}", limit_bytes,
                      required_bytes);
  }
  return CapacityRange{required_bytes, limit_bytes};
}

absl::StatusOr<Bytes> ChooseCapacity(const CapacityRange& range, Bytes minimum) {
  const auto [required, limit] = range;
  Bytes wanted = required;
  if (wanted == 0) wanted = limit == 0 ? kDefaultVolumeSize : std::min(limit, kDefaultVolumeSize);
  const Bytes least = AlignUp(minimum, kVolumeGranularity);
  const Bytes capacity = required == 0 && limit != 0
                             ? std::max(AlignDown(wanted, kVolumeGranularity), least)
                             : std::max(AlignUp(wanted, kVolumeGranularity), least);
  if (capacity < required || capacity < minimum) {
    return OutOfRange("required_bytes {} is more than a volume can have, {}",
                      std::max(required, minimum), capacity);
  }
  if (limit != 0 && capacity > limit) {
    return OutOfRange(
        "limit_bytes {} is below {}, the smallest size that satisfies the request (minimum {}, "
        "multiples of {})",
        limit, capacity, minimum, kVolumeGranularity);
  }
  return capacity;
}

}  // namespace holdfast
