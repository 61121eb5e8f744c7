// SPDX-License-Identifier: Apache-2.0
#include "pool/volume_match.h"

namespace holdfast::pool {
namespace {

constexpr absl::Duration kWantedTime = absl::Hours(1);
constexpr absl::Duration kNoteWantedAfter = absl::Minutes(5);

absl::Duration Since(const std::string& at, absl::Time now) {
  absl::Time wanted;
  if (!absl::ParseTime(absl::RFC3339_full, at, &wanted, nullptr)) return absl::ZeroDuration();
  return now - wanted;
}

}  // namespace

absl::Status RequireSame(const Volume& volume, const VolumeSpec& spec) {
  const auto differs = [&](std::string_view what) {
    return AlreadyExists("a {} named '{}' exists with another {}", ToString(spec.role), spec.name,
                         what);
  };
  if (volume.role != spec.role) return differs("role");
  if (volume.source != spec.source) return differs("content source");
  if (volume.group != spec.group) return differs("group snapshot");
  // Two names with one UUID would need a SHA-1 collision; the name in the record decides.
  if (volume.name != spec.name) return differs("name");
  if (volume.held() != spec.hold) return differs("purpose");
  // The parameters of its class only say how it is cut.
  if (spec.role == VolumeRole::kSnapshot) return absl::OkStatus();
  if (volume.capacity_bytes < spec.capacity.required ||
      (spec.capacity.limit != 0 && volume.capacity_bytes > spec.capacity.limit)) {
    return differs(fmt::format("capacity ({} bytes)", volume.capacity_bytes));
  }
  if (volume.provisioning != spec.provisioning) return differs("provisioning");
  if (volume.access_type != spec.access_type) return differs("access type");
  if (volume.filesystem != spec.filesystem) return differs("filesystem");
  if (volume.mkfs_options != spec.mkfs_options || volume.parameters != spec.parameters) {
    return differs("set of parameters");
  }
  return absl::OkStatus();
}

absl::Duration AgeOf(const Volume& volume, absl::Time now) {
  absl::Time created;
  if (!absl::ParseTime(absl::RFC3339_full, volume.created_at, &created, nullptr)) {
    return -absl::InfiniteDuration();
  }
  return now - created;
}

bool IsForgotten(const std::string& at, absl::Time now) { return Since(at, now) >= kWantedTime; }

bool IsDueAgain(const std::string& at, absl::Time now) {
  return Since(at, now) >= kNoteWantedAfter;
}

}  // namespace holdfast::pool
