// SPDX-License-Identifier: Apache-2.0
// The owner of a block device, from what the kernel itself shows: teardown must not need a pool, a
// record or a reachable image. Each kind of pool identifies its own devices.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace holdfast::os {

struct DeviceOwner {
  enum class Kind {
    kVolume,   // Holdfast's device for the volume `uuid`
    kForeign,  // another device of any kind
    kNobody,   // the device is gone, or the kernel shows no owner
  };
  Kind kind = Kind::kForeign;
  std::string uuid{};

  [[nodiscard]] bool IsOf(const std::string& volume_uuid) const {
    return kind == Kind::kVolume && uuid == volume_uuid;
  }
};
[[nodiscard]] DeviceOwner VolumeOrForeign(std::optional<std::string> uuid);
[[nodiscard]] DeviceOwner NobodysDevice();

// How one kind of pool identifies the devices of its volumes.
struct DeviceProof {
  // The start of the kernel's names for such devices: "loop" for loop3. Other programs' devices can
  // have such names, too.
  std::string_view prefix;
  // Whose the device <prefix><index> is, from what the kernel shows of it alone. INTERNAL if it
  // cannot be looked at: then it is not unmounted.
  absl::StatusOr<DeviceOwner> (*identify)(int index);
};

// Thread-safe. A device that no kind claims is foreign. About 20 us per call. Errors as
// DeviceProof::identify.
class DeviceOwners final {
 public:
  DeviceOwners() = default;
  explicit DeviceOwners(std::vector<DeviceProof> proofs) : proofs_(std::move(proofs)) {}

  [[nodiscard]] absl::StatusOr<DeviceOwner> OwnerOf(dev_t number) const;

  // The same for a device by its kernel name: "loop3", "rbd0".
  [[nodiscard]] absl::StatusOr<DeviceOwner> OwnerOf(const std::string& device_name) const;

  // Whether a volume's device, present or removed, could have this name.
  [[nodiscard]] bool MayHaveName(std::string_view device_name) const;

 private:
  std::vector<DeviceProof> proofs_;
};

}  // namespace holdfast::os
