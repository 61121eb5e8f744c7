// SPDX-License-Identifier: Apache-2.0
// Maps, refreshes and unmaps RBD devices in bounded time.
//
// The kernel's client waits for the cluster as long as it takes: an object store that stops during
// a mapping holds that up until it is back. While the kernel works on a volume's device, it is not
// known whether there is one.
#pragma once

#include <string>

#include "core/long_work.h"
#include "os/rbd_device.h"

namespace holdfast::rbd {

// Thread-safe. The functions of os/rbd_device.h for the device of the volume of that UUID, with
// UNAVAILABLE when the caller's time has passed: the kernel's work continues.
class DeviceCalls final {
 public:
  // A device that appears too late is unmapped again, because no call would claim it.
  [[nodiscard]] absl::StatusOr<os::RbdDevice> Map(const std::string& uuid,
                                                  const os::RbdMapping& mapping);
  [[nodiscard]] absl::StatusOr<Bytes> Refresh(const std::string& uuid, const os::RbdDevice& device);
  [[nodiscard]] absl::Status Unmap(const std::string& uuid, const os::RbdDevice& device);

  // Waits until the kernel is at work on none of the volume's devices. UNAVAILABLE as above.
  [[nodiscard]] absl::Status Await(const std::string& uuid) { return calls_.Await(uuid); }
  [[nodiscard]] bool IsUnderWay(const std::string& uuid) const { return calls_.IsUnderWay(uuid); }

 private:
  LongWork calls_{std::chrono::seconds(30)};  // by UUID
};

}  // namespace holdfast::rbd
