// SPDX-License-Identifier: Apache-2.0
// Whose a block device is: what the kernel itself shows of it, so that teardown needs no pool, no
// record and no reachable image.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/status.h"

namespace holdfast::os {

struct DeviceOwner {
  enum class Kind {
    kVolume,   // Holdfast made it of the volume `uuid`
    kForeign,  // another device of any kind
    kNobody,   // there is no such device any more, or a loop device without a file
  };
  Kind kind = Kind::kForeign;
  std::string uuid{};

  [[nodiscard]] bool IsOf(const std::string& volume_uuid) const {
    return kind == Kind::kVolume && uuid == volume_uuid;
  }
};

// A loop device is told by its label, an rbd device by the name of its image. Where the kernel does
// not tell the label, because the disk that carries the image is dead, the image's path decides,
// which it still tells. Some 20 us. INTERNAL if a loop device cannot be looked at.
[[nodiscard]] absl::StatusOr<DeviceOwner> OwnerOf(dev_t number);

// The same of a device by the kernel's name for it: "loop3", "rbd0".
[[nodiscard]] absl::StatusOr<DeviceOwner> OwnerOf(const std::string& device_name);

}  // namespace holdfast::os
