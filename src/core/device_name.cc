// SPDX-License-Identifier: Apache-2.0
#include "core/device_name.h"

#include "core/volume_id.h"

namespace holdfast {
namespace {

constexpr std::size_t kUuidSize = 36;
constexpr std::string_view kVolumes = "/volumes/";
constexpr std::string_view kImage = "/image";

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

std::string ImagePrefix(const std::string& uuid) { return kImagePrefix + uuid + '-'; }

std::optional<std::string> UuidOfImage(const std::string& name) {
  if (!name.starts_with(kImagePrefix)) return std::nullopt;
  std::string uuid = name.substr(sizeof(kImagePrefix) - 1, kUuidSize);
  const bool ours = IsUuid(uuid) && name.starts_with(ImagePrefix(uuid)) &&
                    name.size() == ImagePrefix(uuid).size() + kImageChanceSize;
  if (!ours) return std::nullopt;
  return uuid;
}

}  // namespace holdfast
