// SPDX-License-Identifier: Apache-2.0
#include "rbd/image_name.h"

#include "core/volume_id.h"
#include "rbd/rbd_device.h"

namespace holdfast::rbd {
namespace {

constexpr std::size_t kUuidSize = 36;
constexpr std::size_t kRandomSize = 8;

absl::StatusOr<os::DeviceOwner> Identify(int index) {
  const auto image = RbdImageAt(index);
  return image ? os::VolumeOrForeign(UuidOfImage(*image)) : os::NobodysDevice();
}

}  // namespace

std::string ImagePrefix(const std::string& uuid) { return kImagePrefix + uuid + '-'; }

std::string NewImageName(const std::string& uuid) {
  return ImagePrefix(uuid) + RandomUuid().substr(0, kRandomSize);
}

std::optional<std::string> UuidOfImage(const std::string& name) {
  if (!name.starts_with(kImagePrefix)) return std::nullopt;
  std::string uuid = name.substr(sizeof(kImagePrefix) - 1, kUuidSize);
  const bool ours = IsUuid(uuid) && name.starts_with(ImagePrefix(uuid)) &&
                    name.size() == ImagePrefix(uuid).size() + kRandomSize;
  if (!ours) return std::nullopt;
  return uuid;
}

std::optional<SnapshotName> ParseSnapshotName(const std::string& name) {
  const std::size_t at = name.find('@');
  if (at == std::string::npos) return std::nullopt;
  return SnapshotName{.image = name.substr(0, at), .snapshot = name.substr(at + 1)};
}

std::optional<std::string> UuidOfBytes(const std::string& name) {
  const auto snapshot = ParseSnapshotName(name);
  if (!snapshot) return UuidOfImage(name);
  return UuidOfImage(snapshot->image) ? UuidOfImage(snapshot->snapshot) : std::nullopt;
}

os::DeviceProof RbdProof() { return {.prefix = "rbd", .identify = Identify}; }

}  // namespace holdfast::rbd
