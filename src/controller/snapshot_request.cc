// SPDX-License-Identifier: Apache-2.0
#include "controller/snapshot_request.h"

#include <absl/time/time.h>

#include "controller/parameters.h"
#include "core/retention.h"
#include "rpc/fields.h"
#include "rpc/kubernetes_objects.h"

namespace holdfast::controller {
namespace {

constexpr absl::Duration kShortestFreeze = absl::Milliseconds(100);
constexpr absl::Duration kLongestFreeze = absl::Seconds(10);

absl::Status SetParameter(VolumeSpec& spec, const std::string& key, const std::string& value) {
  CutOptions& cut = spec.cut;
  if (key == "consistency") {
    if (value != "frozen" && value != "crash") {
      return InvalidArgument("parameter 'consistency': '{}' is neither frozen nor crash", value);
    }
    cut.freeze = cut.must_freeze = value == "frozen";
    return absl::OkStatus();
  }
  if (key == "maxFreeze") {
    ASSIGN_OR_RETURN(cut.longest_freeze, ParseMaxFreeze(value));
    return absl::OkStatus();
  }
  if (key == kKeepDeleted) {
    ASSIGN_OR_RETURN(spec.keep_deleted, ParseRetention(value));
    return absl::OkStatus();
  }
  return InvalidArgument("unknown parameter '{}' (known: consistency, maxFreeze, keepDeleted)",
                         key);
}

}  // namespace

absl::StatusOr<std::chrono::milliseconds> ParseMaxFreeze(const std::string& value) {
  absl::Duration longest;
  if (absl::ParseDuration(value, &longest) && kShortestFreeze <= longest &&
      longest <= kLongestFreeze) {
    return absl::ToChronoMilliseconds(longest);
  }
  return InvalidArgument(
      "parameter 'maxFreeze': '{}' is not a duration from 100ms to 10s, such as 2s", value);
}

absl::StatusOr<VolumeSpec> ParseSnapshotRequest(const csi::v1::CreateSnapshotRequest& request) {
  RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
  RETURN_IF_ERROR(rpc::RequireId(request.source_volume_id(), "source_volume_id"));
  RETURN_IF_ERROR(rpc::CheckMap(request.parameters(), "parameters"));
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = request.name();
  spec.requested_by = rpc::VolumeSnapshotIn(request.parameters());
  for (const auto& [key, value] : request.parameters()) {
    if (!IsOfCo(key)) RETURN_IF_ERROR(SetParameter(spec, key, value));
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
