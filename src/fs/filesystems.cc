// SPDX-License-Identifier: Apache-2.0
#include "fs/filesystems.h"

#include <array>

namespace holdfast::fs {
namespace {

// All that volumes can have. A new filesystem is one more entry.
std::array<const Filesystem*, 4> All() { return {&Ext4(), &Ext3(), &Xfs(), &Btrfs()}; }

}  // namespace

// Of ext and xfs, whose addresses are those of the device.
absl::StatusOr<std::optional<AddressRange>> Filesystem::NextToTrim(int,
                                                                   const os::BlockDevice& device,
                                                                   Bytes from) const {
  if (from >= device.size) return std::nullopt;
  return AddressRange{from, device.size};
}

const Filesystem* FindFilesystem(std::string_view name) {
  for (const Filesystem* filesystem : All()) {
    if (filesystem->name() == name) return filesystem;
  }
  return nullptr;
}

std::vector<std::string> SupportedFilesystems() {
  std::vector<std::string> names;
  for (const Filesystem* filesystem : All()) names.emplace_back(filesystem->name());
  return names;
}

absl::Status RequireSupported(std::string_view name) {
  if (FindFilesystem(name) != nullptr) return absl::OkStatus();
  return InvalidArgument("filesystem '{}' is not supported (supported: {})", name,
                         fmt::join(SupportedFilesystems(), ", "));
}

}  // namespace holdfast::fs
