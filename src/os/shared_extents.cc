// SPDX-License-Identifier: Apache-2.0
#include "os/shared_extents.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::os {
namespace {

constexpr std::size_t kPerCall = 128;

}  // namespace

absl::StatusOr<bool> SharesExtents(int file_fd, std::size_t limit) {
  // The kernel puts the extents right after the header.
  alignas(fiemap) std::array<char, sizeof(fiemap) + kPerCall * sizeof(fiemap_extent)> buffer{};
  auto* const head = reinterpret_cast<fiemap*>(buffer.data());
  for (std::size_t seen = 0; seen < limit;) {
    head->fm_length = FIEMAP_MAX_OFFSET - head->fm_start;
    head->fm_extent_count = static_cast<std::uint32_t>(std::min(kPerCall, limit - seen));
    if (::ioctl(file_fd, FS_IOC_FIEMAP, head) != 0) {
      if (errno == EOPNOTSUPP || errno == ENOTTY) return false;
      return OsError(errno, "cannot read the extents of a file");
    }
    if (head->fm_mapped_extents == 0) return false;
    fiemap_extent extent{};
    for (std::size_t i = 0; i < head->fm_mapped_extents; ++i) {
      std::memcpy(&extent, buffer.data() + sizeof(fiemap) + i * sizeof(extent), sizeof(extent));
      if ((extent.fe_flags & FIEMAP_EXTENT_SHARED) != 0) return true;
      if ((extent.fe_flags & FIEMAP_EXTENT_LAST) != 0) return false;
    }
    seen += head->fm_mapped_extents;
    head->fm_start = extent.fe_logical + extent.fe_length;
  }
  return false;
}

}  // namespace holdfast::os
