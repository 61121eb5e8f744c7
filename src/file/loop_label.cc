// SPDX-License-Identifier: Apache-2.0
#include "file/loop_label.h"

#include "core/disk_names.h"
#include "core/volume_id.h"
#include "os/loop_number.h"

namespace holdfast::file {
namespace {

constexpr std::size_t kUuidSize = 36;

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
  return fmt::format("/{}/{}/{}", kVolumesName, uuid, kImageName);
}

std::optional<std::string> UuidOfImagePath(std::string_view path) {
  constexpr std::size_t kBefore = sizeof("/") + sizeof(kVolumesName) - 1;   // "/volumes/"
  constexpr std::size_t kAfter = sizeof("/") - 1 + sizeof(kImageName) - 1;  // "/image"
  constexpr std::size_t kSize = kBefore + kUuidSize + kAfter;
  if (path.size() < kSize) return std::nullopt;
  path.remove_prefix(path.size() - kSize);
  const std::string_view uuid = path.substr(kBefore, kUuidSize);
  if (!IsUuid(uuid) || path != ImagePathEnd(uuid)) return std::nullopt;
  return std::string(uuid);
}

os::DeviceProof LoopProof() { return {.prefix = "loop", .identify = Identify}; }

}  // namespace holdfast::file
