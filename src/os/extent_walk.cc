// SPDX-License-Identifier: Apache-2.0
#include "os/extent_walk.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

namespace holdfast::os {
namespace {

constexpr std::size_t kPerCall = 1024;

}  // namespace

absl::Status WalkExtents(int file_fd, const ExtentWalk& walk,
                         const std::function<bool(const fiemap_extent&)>& take) {
  // The kernel puts the extents right after the header.
  alignas(fiemap) std::array<char, sizeof(fiemap) + kPerCall * sizeof(fiemap_extent)> buffer{};
  auto* const head = reinterpret_cast<fiemap*>(buffer.data());
  const std::uint64_t end =
      walk.end == 0 ? FIEMAP_MAX_OFFSET : static_cast<std::uint64_t>(walk.end);
  const std::size_t limit = walk.limit == 0 ? std::numeric_limits<std::size_t>::max() : walk.limit;
  head->fm_start = static_cast<std::uint64_t>(walk.begin);
  for (std::size_t seen = 0; seen < limit && head->fm_start < end;) {
    head->fm_length = end - head->fm_start;
    head->fm_flags = walk.flush && seen == 0 ? FIEMAP_FLAG_SYNC : 0;
    head->fm_extent_count = static_cast<std::uint32_t>(std::min(kPerCall, limit - seen));
    if (::ioctl(file_fd, FS_IOC_FIEMAP, head) != 0) {
      if (errno == EOPNOTSUPP || errno == ENOTTY) {
        return absl::UnimplementedError("the filesystem has no map of extents");
      }
      return OsError(errno, "cannot read the extents of a file");
    }
    if (head->fm_mapped_extents == 0) return absl::OkStatus();
    fiemap_extent extent{};
    for (std::size_t i = 0; i < head->fm_mapped_extents; ++i) {
      std::memcpy(&extent, buffer.data() + sizeof(fiemap) + i * sizeof(extent), sizeof(extent));
      if (!take(extent) || (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0) return absl::OkStatus();
    }
    seen += head->fm_mapped_extents;
    head->fm_start = extent.fe_logical + extent.fe_length;
  }
  return absl::OkStatus();
}

}  // namespace holdfast::os
