// SPDX-License-Identifier: Apache-2.0
#include "pool/loop_label.h"

#include "core/volume_id.h"
#include "os/loop_identity.h"

namespace holdfast::pool {
namespace {

constexpr std::size_t kUuidSize = 36;
constexpr std::string_view kVolumes = "/volumes/";
constexpr std::string_view kImage = "/image";

absl::StatusOr<os::DeviceOwner> Identify(int index) {
  ASSIGN_OR_RETURN(const auto identity, os::IdentifyLoop(index));
  if (!identity) return os::NobodysDevice();
  return os::VolumeOrForeign(identity->label ? UuidOfLoopLabel(*identity->label)
                                             : UuidOfImagePath(identity->path));
}

}  // namespace

std::string LoopLabelOf(const std::string& uuid, const std::string& pool_tag) {
  return kLoopLabelPrefix + uuid + ':' + pool_tag;
}

std::optional<std::string> UuidOfLoopLabel(std::string_view label) {
  constexpr std::string_view kPrefix = kLoopLabelPrefix;
  if (!label.starts_with(kPrefix)) return std::nullopt;
  label.remove_prefix(kPrefix.size());
  const std::string_view uuid = label.substr(0, kUuidSize);
  if (!IsUuid(uuid) || !label.substr(kUuidSize).starts_with(':')) return std::nullopt;
  return std::string(uuid);
}

std::string ImagePathEnd(std::string_view uuid) {
  return std::string(kVolumes).append(uuid).append(kImage);
}

std::optional<std::string> UuidOfImagePath(std::string_view path) {
  const std::size_t size = kVolumes.size() + kUuidSize + kImage.size();
  if (path.size() < size) return std::nullopt;
  path.remove_prefix(path.size() - size);
  const std::string_view uuid = path.substr(kVolumes.size(), kUuidSize);
  if (!IsUuid(uuid) || path != ImagePathEnd(uuid)) return std::nullopt;
  return std::string(uuid);
}

os::DeviceProof LoopProof() { return {.prefix = "loop", .identify = Identify}; }

}  // namespace holdfast::pool
