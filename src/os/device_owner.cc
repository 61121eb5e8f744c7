// SPDX-License-Identifier: Apache-2.0
#include "os/device_owner.h"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/device_name.h"
#include "os/loop_identity.h"
#include "os/rbd_device.h"

namespace holdfast::os {
namespace {

using Kind = DeviceOwner::Kind;

// "loop3", "rbd0", "sda1"; empty if there is no such device.
std::string NameOf(dev_t number) {
  char target[256];
  const std::string link = fmt::format("/sys/dev/block/{}:{}", major(number), minor(number));
  const ssize_t length = ::readlink(link.c_str(), target, sizeof(target));
  if (length <= 0) return "";
  const std::string_view path(target, static_cast<std::size_t>(length));
  return std::string(path.substr(path.rfind('/') + 1));
}

// N of "<kind>N"; nothing for another name, that of a partition included.
std::optional<int> IndexIn(std::string_view name, std::string_view kind) {
  if (!name.starts_with(kind)) return std::nullopt;
  int index = -1;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kind.size(), end, index);
  return error == std::errc() && rest == end ? std::optional(index) : std::nullopt;
}

DeviceOwner VolumeOrForeign(const std::optional<std::string>& uuid) {
  return uuid ? DeviceOwner{.kind = Kind::kVolume, .uuid = *uuid} : DeviceOwner{};
}

}  // namespace

absl::StatusOr<DeviceOwner> OwnerOf(dev_t number) {
  if (major(number) == 0) return DeviceOwner{};  // of a filesystem without a block device
  const std::string name = NameOf(number);
  return name.empty() ? DeviceOwner{.kind = Kind::kNobody} : OwnerOf(name);
}

absl::StatusOr<DeviceOwner> OwnerOf(const std::string& device_name) {
  if (const auto loop = IndexIn(device_name, "loop")) {
    ASSIGN_OR_RETURN(const auto identity, IdentifyLoop(*loop));
    if (!identity) return DeviceOwner{.kind = Kind::kNobody};
    return VolumeOrForeign(identity->label ? UuidOfLoopLabel(*identity->label)
                                           : UuidOfImagePath(identity->path));
  }
  if (const auto rbd = IndexIn(device_name, "rbd")) {
    const auto image = RbdImageAt(*rbd);
    return image ? VolumeOrForeign(UuidOfImage(*image)) : DeviceOwner{.kind = Kind::kNobody};
  }
  return DeviceOwner{};
}

}  // namespace holdfast::os
