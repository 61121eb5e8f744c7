// SPDX-License-Identifier: Apache-2.0
#include "os/device_owner.h"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace holdfast::os {
namespace {

// "loop3", "rbd0", "sda1"; empty if there is no such device.
std::string NameOf(dev_t number) {
  char target[256];
  const std::string link = fmt::format("/sys/dev/block/{}:{}", major(number), minor(number));
  const ssize_t length = ::readlink(link.c_str(), target, sizeof(target));
  if (length <= 0) return "";
  const std::string_view path(target, static_cast<std::size_t>(length));
  return std::string(path.substr(path.rfind('/') + 1));
}

// N of "<prefix>N"; nothing for another name, that of a partition included.
std::optional<int> IndexIn(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  int index = -1;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, index);
  return error == std::errc() && rest == end ? std::optional(index) : std::nullopt;
}

}  // namespace

DeviceOwner VolumeOrForeign(std::optional<std::string> uuid) {
  if (!uuid) return DeviceOwner{};
  return DeviceOwner{.kind = DeviceOwner::Kind::kVolume, .uuid = *std::move(uuid)};
}

DeviceOwner NobodysDevice() { return DeviceOwner{.kind = DeviceOwner::Kind::kNobody}; }

absl::StatusOr<DeviceOwner> DeviceOwners::OwnerOf(dev_t number) const {
  if (major(number) == 0) return DeviceOwner{};  // of a filesystem without a block device
  const std::string name = NameOf(number);
  return name.empty() ? NobodysDevice() : OwnerOf(name);
}

absl::StatusOr<DeviceOwner> DeviceOwners::OwnerOf(const std::string& device_name) const {
  for (const DeviceProof& proof : proofs_) {
    if (const auto index = IndexIn(device_name, proof.prefix)) return proof.identify(*index);
  }
  return DeviceOwner{};
}

bool DeviceOwners::MayHaveName(std::string_view device_name) const {
  return std::ranges::any_of(
      proofs_, [&](const DeviceProof& proof) { return device_name.starts_with(proof.prefix); });
}

}  // namespace holdfast::os
