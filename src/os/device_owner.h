// SPDX-License-Identifier: Apache-2.0
// Whose a block device is: what the kernel itself shows of it, so that teardown needs no pool, no
// record and no reachable image. Each kind of pool proves its own devices.
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
    kVolume,   // Holdfast made it of the volume `uuid`
    kForeign,  // another device of any kind
    kNobody,   // there is no such device any more, or it shows nothing
  };
  Kind kind = Kind::kForeign;
  std::string uuid{};

  [[nodiscard]] bool IsOf(const std::string& volume_uuid) const {
    return kind == Kind::kVolume && uuid == volume_uuid;
  }
};
[[nodiscard]] DeviceOwner VolumeOrForeign(std::optional<std::string> uuid);
[[nodiscard]] DeviceOwner NobodysDevice();

// How a kind of pool proves that a device is one of its volumes'.
struct DeviceProof {
  // Of the kernel's names for such devices: "loop" for loop3. Other programs' devices may have such
  // names, too.
  std::string_view prefix;
  // Whose the device <prefix><index> is, from what the kernel shows of it alone. INTERNAL if it
  // cannot be looked at: then it is not unmounted.
  absl::StatusOr<DeviceOwner> (*identify)(int index);
};

// Thread-safe. A device that no kind claims is foreign. Some 20 us a question. Errors as
// DeviceProof::identify.
class DeviceOwners final {
 public:
  DeviceOwners() = default;
  explicit DeviceOwners(std::vector<DeviceProof> proofs) : proofs_(std::move(proofs)) {}

  [[nodiscard]] absl::StatusOr<DeviceOwner> OwnerOf(dev_t number) const;

  // The same of a device by the kernel's name for it: "loop3", "rbd0".
  [[nodiscard]] absl::StatusOr<DeviceOwner> OwnerOf(const std::string& device_name) const;

  // Whether a volume's device could have this name, or it is that of one that is gone.
  [[nodiscard]] bool MayHaveName(std::string_view device_name) const;

 private:
  std::vector<DeviceProof> proofs_;
};

}  // namespace holdfast::os
