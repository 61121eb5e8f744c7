// SPDX-License-Identifier: Apache-2.0
#include "rbd/device_calls.h"

#include <memory>

#include "core/log.h"

namespace holdfast::rbd {
namespace {

void UnmapLate(const absl::StatusOr<os::RbdDevice>& device) {
  if (!device.ok()) return;
  const std::string what = fmt::format("{} of image '{}'", device->block.path, device->image);
  const absl::Status unmapped = os::UnmapRbdDevice(*device);
  if (unmapped.ok()) {
    LogWarning("{} came when its call had ended, and was unmapped", what);
  } else {
    LogWarning("{} came when its call had ended, and stays: {}", what, MessageOf(unmapped));
  }
}

}  // namespace

absl::StatusOr<os::RbdDevice> DeviceCalls::Map(const std::string& uuid,
                                               const os::RbdMapping& mapping) {
  const auto device = std::make_shared<absl::StatusOr<os::RbdDevice>>();
  RETURN_IF_ERROR(calls_.Run(
      uuid, fmt::format("the kernel's mapping of image '{}'", mapping.image.image),
      [device, mapping] { *device = os::MapRbdImage(mapping); }, [device] { UnmapLate(*device); }));
  return *device;
}

absl::StatusOr<Bytes> DeviceCalls::Refresh(const std::string& uuid, const os::RbdDevice& device) {
  const auto size = std::make_shared<absl::StatusOr<Bytes>>(0);
  RETURN_IF_ERROR(calls_.Run(uuid,
                             fmt::format("the kernel's look at the size of {}", device.block.path),
                             [size, device] { *size = os::RefreshRbdDevice(device); }));
  return *size;
}

absl::Status DeviceCalls::Unmap(const std::string& uuid, const os::RbdDevice& device) {
  const auto unmapped = std::make_shared<absl::Status>();
  RETURN_IF_ERROR(calls_.Run(uuid, fmt::format("the kernel's unmapping of {}", device.block.path),
                             [unmapped, device] { *unmapped = os::UnmapRbdDevice(device); }));
  return *unmapped;
}

}  // namespace holdfast::rbd
