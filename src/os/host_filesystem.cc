// SPDX-License-Identifier: Apache-2.0
#include "os/host_filesystem.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <uuid/uuid.h>
#include <xfs/xfs.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "os/shared_extents.h"
#include "os/unique_fd.h"

namespace holdfast::os {
namespace {

constexpr std::uint32_t kSmallSector = 512;
constexpr std::uint32_t kLargeSector = 4096;
// Where the disk is too full for a test: every disk accepts the large unit, and a loop device falls
// back to buffered I/O where direct I/O is refused.
constexpr DirectIoSupport kAssumed{.direct_io = true, .sector_size = kLargeSector};

std::string UuidText(const unsigned char* uuid) {
  char text[37];
  uuid_unparse_lower(uuid, text);
  return text;
}

// The kernel makes ext's fsid from the UUID (ext4_statfs), so it needs no ioctl of a recent kernel.
std::string ExtIdentity(const struct statfs& facts) {
  std::uint64_t fsid = 0;
  static_assert(sizeof(fsid) == sizeof(facts.f_fsid));
  std::memcpy(&fsid, &facts.f_fsid, sizeof(fsid));
  return fmt::format("ext:{:016x}", fsid);
}

absl::StatusOr<std::string> XfsIdentity(int fd) {
  xfs_fsop_geom_v1 geometry{};
  if (::ioctl(fd, XFS_IOC_FSGEOMETRY_V1, &geometry) != 0) {
    return OsError(errno, "cannot read the UUID of the xfs filesystem");
  }
  return "xfs:" + UuidText(geometry.uuid);
}

absl::StatusOr<std::string> BtrfsIdentity(int fd) {
  btrfs_ioctl_fs_info_args info{};
  if (::ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) {
    return OsError(errno, "cannot read the UUID of the btrfs filesystem");
  }
  return "btrfs:" + UuidText(info.fsid);
}

struct FreeDeleter {
  void operator()(char* memory) const { std::free(memory); }
};

// The unit of direct I/O as the kernel states it (statx(2), STATX_DIOALIGN, Linux 6.1); 0 where the
// file refuses direct I/O, nothing where the filesystem does not state it.
std::optional<std::uint32_t> StatedDirectIoUnit(int fd) {
  struct statx facts {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) != 0) return std::nullopt;
  if ((facts.stx_mask & STATX_DIOALIGN) == 0) return std::nullopt;
  return facts.stx_dio_offset_align;
}

// The smallest unit in which direct reads succeed, 0 if there is none.
std::uint32_t TriedDirectIoUnit(int fd, char* buffer) {
  for (const std::uint32_t unit : {kSmallSector, kLargeSector}) {
    if (::pread(fd, buffer, unit, unit) == static_cast<ssize_t>(unit)) return unit;
  }
  return 0;
}

bool IsFull(int error_number) { return error_number == ENOSPC || error_number == EDQUOT; }

}  // namespace

absl::StatusOr<FilesystemSpace> MeasureFilesystem(int fd) {
  struct statvfs facts {};
  if (::fstatvfs(fd, &facts) != 0) return OsError(errno, "cannot measure the filesystem");
  const auto bytes = [&](fsblkcnt_t blocks) { return static_cast<Bytes>(blocks * facts.f_frsize); };
  return FilesystemSpace{
      .total = bytes(facts.f_blocks),
      .available = bytes(facts.f_bavail),
      .used = bytes(facts.f_blocks - facts.f_bfree),
      .inodes_total = static_cast<std::int64_t>(facts.f_files),
      .inodes_available = static_cast<std::int64_t>(facts.f_favail),
      .inodes_used = static_cast<std::int64_t>(facts.f_files - facts.f_ffree),
      .read_only = (facts.f_flag & ST_RDONLY) != 0,
  };
}

absl::StatusOr<std::string> FilesystemIdentity(int fd) {
  struct statfs facts {};
  if (::fstatfs(fd, &facts) != 0) return OsError(errno, "cannot identify the filesystem");
  switch (facts.f_type) {
    case EXT4_SUPER_MAGIC:
      return ExtIdentity(facts);
    case XFS_SUPER_MAGIC:
      return XfsIdentity(fd);
    case BTRFS_SUPER_MAGIC:
      return BtrfsIdentity(fd);
    case TMPFS_MAGIC:
      return "tmpfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlay";
    case NFS_SUPER_MAGIC:
      return "nfs";
    default:
      return fmt::format("type-{:x}", facts.f_type);
  }
}

absl::StatusOr<DirectIoSupport> ProbeDirectIo(int directory_fd) {
  const UniqueFd file(::openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600));
  if (!file.valid()) {
    // No direct I/O, or no unnamed files to try it on.
    if (errno == EINVAL || errno == EOPNOTSUPP) return DirectIoSupport{};
    if (IsFull(errno)) return kAssumed;
    return OsError(errno, "cannot make a temporary file to try direct I/O on");
  }
  // Real data: reads of a hole need no device and prove nothing.
  constexpr auto kSize = std::size_t{2} * kLargeSector;
  const std::unique_ptr<char, FreeDeleter> buffer(
      static_cast<char*>(std::aligned_alloc(kLargeSector, kSize)));
  if (buffer == nullptr) return OsError(ENOMEM, "cannot try direct I/O");
  std::memset(buffer.get(), 1, kSize);
  const ssize_t written = ::pwrite(file.get(), buffer.get(), kSize, 0);
  if (written < 0 && errno == EINVAL) return DirectIoSupport{};
  if (written < 0 && !IsFull(errno)) {
    return OsError(errno, "cannot write a temporary file to try direct I/O on");
  }
  const std::optional<std::uint32_t> stated = StatedDirectIoUnit(file.get());
  if (written < 0 && !stated) return kAssumed;
  const std::uint32_t unit = stated ? *stated : TriedDirectIoUnit(file.get(), buffer.get());
  if (unit == 0 || unit > kLargeSector) return DirectIoSupport{};
  return DirectIoSupport{.direct_io = true,
                         .sector_size = unit <= kSmallSector ? kSmallSector : kLargeSector};
}

bool CanShareBlocks(int directory_fd) {
  const auto make = [&] {
    return UniqueFd(::openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  };
  const UniqueFd source = make();
  const UniqueFd copy = make();
  return source.valid() && copy.valid() && CloneFile(source.get(), copy.get()).ok();
}

}  // namespace holdfast::os
