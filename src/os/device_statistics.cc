// SPDX-License-Identifier: Apache-2.0
#include "os/device_statistics.h"

#include <sys/sysmacros.h>

#include <sstream>
#include <string>

#include "os/file.h"

namespace holdfast::os {
namespace {

// The kernel's unit there, whatever the device's own sectors are.
constexpr Bytes kSector = 512;

}  // namespace

absl::StatusOr<DeviceStatistics> ParseDeviceStatistics(std::string_view text) {
  DeviceStatistics counted;
  std::istringstream columns{std::string(text)};
  std::int64_t other = 0;  // requests that were merged, and milliseconds
  columns >> counted.reads >> other >> counted.read_bytes >> other;
  columns >> counted.writes >> other >> counted.written_bytes;
  if (columns.fail()) return Internal("the statistics of a block device cannot be read");
  counted.read_bytes *= kSector;
  counted.written_bytes *= kSector;
  return counted;
}

absl::StatusOr<DeviceStatistics> ReadDeviceStatistics(dev_t number) {
  ASSIGN_OR_RETURN(
      const UniqueFd directory,
      OpenDirectory(fmt::format("/sys/dev/block/{}:{}", major(number), minor(number))));
  ASSIGN_OR_RETURN(const std::string text, ReadFileAt(directory.get(), "stat"));
  return ParseDeviceStatistics(text);
}

}  // namespace holdfast::os
