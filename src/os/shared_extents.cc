// SPDX-License-Identifier: Apache-2.0
#include "os/shared_extents.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "os/extent_walk.h"

namespace holdfast::os {
namespace {

// As WalkExtents from `begin` on; a filesystem without a map shares nothing.
template <typename Take>
absl::Status ForEachExtent(int file_fd, Bytes begin, std::size_t limit, Take take) {
  const absl::Status walked = WalkExtents(file_fd, {.begin = begin, .limit = limit}, take);
  return absl::IsUnimplemented(walked) ? absl::OkStatus() : walked;
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
  RETURN_IF_ERROR(ForEachExtent(file_fd, begin, 0, [&](const fiemap_extent& extent) {
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

absl::Status SetCowReserve(int file_fd, CowReserve reserve) {
  struct fsxattr attributes {};
  struct stat facts {};
  if (::ioctl(file_fd, FS_IOC_FSGETXATTR, &attributes) != 0 || ::fstat(file_fd, &facts) != 0) {
    if (errno == ENOTTY || errno == EOPNOTSUPP) return absl::OkStatus();
    return OsError(errno, "cannot read the attributes of a file");
  }
  const bool none = reserve == CowReserve::kNone;
  const bool has_hint = (attributes.fsx_xflags & FS_XFLAG_COWEXTSIZE) != 0;
  if (has_hint == none) return absl::OkStatus();
  attributes.fsx_xflags ^= FS_XFLAG_COWEXTSIZE;
  attributes.fsx_cowextsize = none ? static_cast<std::uint32_t>(facts.st_blksize) : 0;
  if (::ioctl(file_fd, FS_IOC_FSSETXATTR, &attributes) == 0) return absl::OkStatus();
  if (errno == ENOTTY || errno == EOPNOTSUPP) return absl::OkStatus();
  return OsError(errno, "cannot set the reserve for copied blocks of a file");
}

absl::StatusOr<Bytes> SharedBytes(int file_fd) {
  Bytes shared = 0;
  RETURN_IF_ERROR(ForEachExtent(file_fd, 0, 0, [&](const fiemap_extent& extent) {
    if (IsShared(extent)) {
      shared += static_cast<Bytes>(extent.fe_length);
    }
    return true;
  }));
  return shared;
}

}  // namespace holdfast::os
