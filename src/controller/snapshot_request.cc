// SPDX-License-Identifier: Apache-2.0
#include "controller/snapshot_request.h"

#include "controller/parameters.h"
#include "rpc/fields.h"

namespace holdfast::controller {

absl::StatusOr<VolumeSpec> ParseSnapshotRequest(const csi::v1::CreateSnapshotRequest& request) {
  RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
  RETURN_IF_ERROR(rpc::RequireId(request.source_volume_id(), "source_volume_id"));
  RETURN_IF_ERROR(rpc::CheckMap(request.parameters(), "parameters"));
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = request.name();
  for (const auto& [key, value] : request.parameters()) {
    if (IsOfCo(key)) continue;
    return InvalidArgument("unknown parameter '{}': a VolumeSnapshotClass has none", key);
  }
  return spec;
}

absl::StatusOr<std::optional<ContentSource>> ParseContentSource(
    const csi::v1::CreateVolumeRequest& request) {
  if (!request.has_volume_content_source()) return std::nullopt;
  const csi::v1::VolumeContentSource& source = request.volume_content_source();
  if (source.has_snapshot()) {
    const std::string& text = source.snapshot().snapshot_id();
    RETURN_IF_ERROR(rpc::RequireId(text, "volume_content_source.snapshot.snapshot_id"));
    const auto id = ParseSnapshotId(text);
    if (!id) return NotFound("there is no snapshot '{}'", text);
    return ContentSource{VolumeRole::kSnapshot, *id};
  }
  if (!source.has_volume()) {
    return InvalidArgument("volume_content_source names neither a snapshot nor a volume");
  }
  const std::string& text = source.volume().volume_id();
  RETURN_IF_ERROR(rpc::RequireId(text, "volume_content_source.volume.volume_id"));
  const auto id = VolumeId::Parse(text);
  if (!id) return NotFound("there is no volume '{}'", text);
  return ContentSource{VolumeRole::kVolume, *id};
}

std::string SnapshotNameKey(const std::string& name) { return "snapshot named " + name; }

}  // namespace holdfast::controller
