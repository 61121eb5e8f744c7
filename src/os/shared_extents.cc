// SPDX-License-Identifier: Apache-2.0
#include "os/shared_extents.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

namespace holdfast::os {
namespace {

constexpr std::size_t kPerCall = 128;

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// Calls `take` with each of the first `limit` extents from `begin` on, until it returns false.
template <typename Take>
absl::Status ForEachExtent(int file_fd, Bytes begin, std::size_t limit, Take take) {
  // The kernel puts the extents right after the header.
  alignas(fiemap) std::array<char, sizeof(fiemap) + kPerCall * sizeof(fiemap_extent)> buffer{};
  auto* const head = reinterpret_cast<fiemap*>(buffer.data());
  head->fm_start = static_cast<std::uint64_t>(begin);
  for (std::size_t seen = 0; seen < limit;) {
    head->fm_length = FIEMAP_MAX_OFFSET - head->fm_start;
    head->fm_extent_count = static_cast<std::uint32_t>(std::min(kPerCall, limit - seen));
    if (::ioctl(file_fd, FS_IOC_FIEMAP, head) != 0) {
      if (errno == EOPNOTSUPP || errno == ENOTTY) return absl::OkStatus();
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

bool IsShared(const fiemap_extent& extent) { return (extent.fe_flags & FIEMAP_EXTENT_SHARED) != 0; }

absl::Status WithoutRoom(int error, std::string_view what) {
  const absl::Status failed = OsError(error, what);
  const bool full = error == ENOSPC || error == EDQUOT;
  return full ? WithCode(failed, absl::StatusCode::kResourceExhausted) : failed;
}

}  // namespace

absl::Status CloneFile(int source_fd, int copy_fd) {
  if (::ioctl(copy_fd, FICLONE, source_fd) == 0) return absl::OkStatus();
  if (errno == EOPNOTSUPP || errno == ENOTTY || errno == EXDEV || errno == EINVAL) {
    return absl::UnimplementedError("the filesystem cannot share blocks between files");
  }
  return WithoutRoom(errno, "cannot clone a file");
}

absl::StatusOr<bool> SharesExtents(int file_fd, std::size_t limit) {
  bool shares = false;
  RETURN_IF_ERROR(ForEachExtent(file_fd, 0, limit, [&](const fiemap_extent& extent) {
    shares = IsShared(extent);
    return !shares;
  }));
  return shares;
}

absl::StatusOr<std::optional<Extent>> NextSharedExtent(int file_fd, Bytes begin) {
  std::optional<Extent> found;
  RETURN_IF_ERROR(ForEachExtent(file_fd, begin, kAll, [&](const fiemap_extent& extent) {
    if (!IsShared(extent)) return true;
    const auto first = static_cast<Bytes>(extent.fe_logical);
    found = Extent{std::max(first, begin), first + static_cast<Bytes>(extent.fe_length)};
    return false;
  }));
  return found;
}

absl::Status UnshareExtent(int file_fd, const Extent& extent) {
  int result = 0;
  do {
    result = ::fallocate(file_fd, FALLOC_FL_UNSHARE_RANGE | FALLOC_FL_KEEP_SIZE, extent.begin,
                         extent.end - extent.begin);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return absl::OkStatus();
  if (errno == EOPNOTSUPP) return absl::UnimplementedError("the filesystem cannot unshare extents");
  return WithoutRoom(errno, "cannot unshare an extent of a file");
}

absl::StatusOr<Bytes> SharedBytes(int file_fd) {
  Bytes shared = 0;
  RETURN_IF_ERROR(ForEachExtent(file_fd, 0, kAll, [&](const fiemap_extent& extent) {
    if (IsShared(extent)) {
      shared += static_cast<Bytes>(extent.fe_length);
    }
    return true;
  }));
  return shared;
}

}  // namespace holdfast::os
