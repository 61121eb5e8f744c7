// SPDX-License-Identifier: Apache-2.0
// What the kernel has counted of a block device's reads and writes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast::os {

// Since the device has been there; requests are counted when they are complete, after merging.
struct DeviceStatistics {
  std::int64_t reads = 0;
  std::int64_t writes = 0;
  Bytes read_bytes = 0;
  Bytes written_bytes = 0;
};

// From the text of /sys/block/DEVICE/stat (the kernel's Documentation/block/stat.rst). INTERNAL if
// it is another one.
[[nodiscard]] absl::StatusOr<DeviceStatistics> ParseDeviceStatistics(std::string_view text);

// NOT_FOUND if the kernel has no such device.
[[nodiscard]] absl::StatusOr<DeviceStatistics> ReadDeviceStatistics(dev_t number);

}  // namespace holdfast::os
