// SPDX-License-Identifier: Apache-2.0
// xfs: mkfs.xfs(8); growth by ioctl_xfs_fsgeometry(2) and XFS_IOC_FSGROWFSDATA.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <xfs/xfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "fs/filesystems.h"
#include "fs/format_programs.h"
#include "fs/mkfs_options.h"
#include "fs/mounted_volumes.h"
#include "fs/superblock.h"
#include "fs/undo_path.h"
#include "fs/xfs_log.h"
#include "os/mounter.h"

namespace holdfast::fs {
namespace {

const std::vector<MkfsOption>& XfsOptions() {
  using enum MkfsOption::Form;
  static const std::vector<MkfsOption> options = {
      {"-b", kKeys, {"size"}},
      {"-d", kKeys, {"agcount", "agsize", "su", "sw", "sunit", "swidth", "noalign"}},
      {"-i", kKeys, {"size", "perblock", "maxpct", "sparse", "nrext64"}},
      {"-l", kKeys, {"size", "su", "sunit"}},
      {"-m", kKeys, {"finobt", "reflink", "rmapbt", "bigtime", "inobtcount"}},
      {"-n", kKeys, {"size"}},
      {"-s", kKeys, {"size"}},
  };
  return options;
}

absl::StatusOr<xfs_fsop_geom> ReadGeometry(int root_fd, const std::string& mount_path) {
  xfs_fsop_geom geometry{};
  if (::ioctl(root_fd, XFS_IOC_FSGEOMETRY, &geometry) == 0) return geometry;
  return OsError(errno, fmt::format("cannot read the xfs geometry at '{}'", mount_path));
}

// The data blocks that the kernel uses of a device of `size`: it leaves out a last allocation group
// of fewer than XFS_MIN_AG_BLOCKS (fs/xfs/xfs_fsops.c, xfs_growfs_data_private). Never less than
// the present number: the same ioctl can shrink.
std::uint64_t ReachableBlocks(const xfs_fsop_geom& geometry, Bytes size) {
  std::uint64_t blocks = static_cast<std::uint64_t>(size) / geometry.blocksize;
  const std::uint64_t last_group = blocks % geometry.agblocks;
  if (last_group < XFS_MIN_AG_BLOCKS) blocks -= last_group;
  return std::max<std::uint64_t>(blocks, geometry.datablocks);
}

// Offsets in xfs_dsb and xlog_rec_header (fs/xfs/libxfs/xfs_format.h, xfs_log_format.h). mkfs.xfs
// clears sb_inprogress last, and leaves one record in the log, the first of cycle 1, followed by
// zeros. A mount for writing stamps the log after that record (xlog_clear_stale_blocks).
absl::StatusOr<bool> IsUnusedXfs(int fd, Bytes device_size) {
  ASSIGN_OR_RETURN(const Piece superblock, ReadPiece(fd, 0));
  constexpr std::size_t kInProgress = 126;
  if (superblock[kInProgress] != 0) return true;
  ASSIGN_OR_RETURN(const auto log, FindXfsLog(fd, device_size));
  if (!log) return false;
  ASSIGN_OR_RETURN(const Piece record, ReadPiece(fd, log->begin));
  constexpr std::uint32_t kMagic = 0xFEEDBABE;
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 32;  // cycle 1, block 0
  constexpr Bytes kHeaderSector = 512;
  constexpr Bytes kPerHeaderSector = 32 * kKiB;  // of the log buffer that a record is written from
  constexpr Bytes kLargestBuffer = 256 * kKiB;
  const Bytes length = Big32(record, 12);
  const Bytes buffer = Big32(record, 320);
  if (Big32(record, 0) != kMagic || Big64(record, 16) != kFirst || length > kLargestBuffer ||
      buffer > kLargestBuffer) {
    return false;
  }
  const Bytes header = kHeaderSector * std::max<Bytes>(1, buffer / kPerHeaderSector);
  ASSIGN_OR_RETURN(const Piece behind, ReadPiece(fd, log->begin + header + length));
  return IsZero(behind);
}

// Whether the log holds changes that a mount has to replay: that of a copy of a mounted filesystem,
// frozen or not, does. True in doubt.
bool NeedsReplay(const os::BlockDevice& device) {
  const auto result = RunMaintenance({"xfs_logprint", "-t", device.path});
  return !result.ok() || result->exit_code != 0 || result->signal != 0 ||
         result->output.find("state: <CLEAN>") == std::string::npos;
}

// xfs_db (6.1 seen) ends with 0 also after writes that failed, and says so on standard error alone.
bool LostWrites(const os::CommandResult& result) {
  constexpr std::array<std::string_view, 3> kSigns = {"failed", "Lost a write", "Unable to"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return result.output.find(sign) != std::string::npos; });
}

class XfsFilesystem final : public Filesystem {
 public:
  std::string_view name() const override { return "xfs"; }
  // Since xfsprogs 5.19, mkfs.xfs refuses smaller devices.
  Bytes min_size() const override { return 300 * kMiB; }
  std::string_view package() const override { return "xfsprogs"; }
  std::vector<std::string> programs() const override {
    return {"mkfs.xfs", "xfs_db", "xfs_logprint", "xfs_repair"};
  }

  // Never -f: mkfs.xfs then refuses a device that holds something, a second guard.
  absl::Status Make(const os::BlockDevice& device, const FormatOptions& options) const override {
    std::vector<std::string> argv = {"mkfs.xfs", "-q", "-m", fmt::format("uuid={}", options.uuid)};
    if (options.keep_allocation) argv.emplace_back("-K");
    argv.insert(argv.end(), options.extra.begin(), options.extra.end());
    return RunMkfs(std::move(argv), device);
  }

  // Of an interrupted ChangeUuid: the log was empty before that and may be half written now, so
  // nothing is lost with it. If it already has the new UUID and the superblock does not, xfs_repair
  // (6.1 seen) gives the superblock that of the log, and all other metadata is foreign to it then.
  // A log of zeros has none.
  absl::Status UndoInterrupted(const os::BlockDevice& device,
                               const std::string& undo_path) const override {
    RETURN_IF_ERROR(RemoveUnfinished(undo_path));
    if (::access(undo_path.c_str(), F_OK) != 0) return absl::OkStatus();
    RETURN_IF_ERROR(ZeroXfsLog(device));
    ASSIGN_OR_RETURN(const os::CommandResult result,
                     RunMaintenance({"xfs_repair", "-L", device.path}));
    if (result.exit_code != 0) {
      return Internal("cannot repair the xfs on {}: xfs_repair ended with {}", device.path,
                      DescribeEnd(result));
    }
    RETURN_IF_ERROR(os::FlushBlockDevice(device));
    return RemoveDurably(undo_path);
  }
  absl::StatusOr<bool> PrepareMount(const os::BlockDevice&, const std::string&) const override {
    return false;
  }

  // xfs_db(8), as xfs_admin(8) uses it, refuses a log that has to be replayed. It ends with 0 also
  // when it refuses: the caller reads the UUID back. The note that it is at work, where other
  // filesystems have an undo file, is durable before the device changes, and durably gone before
  // anything else is mounted.
  absl::Status ChangeUuid(const os::BlockDevice& device, const std::string& uuid,
                          const std::string& undo_path) const override {
    if (NeedsReplay(device)) {
      RETURN_IF_ERROR(os::MountForAMoment(
          {.device = device.path, .filesystem = "xfs", .read_only = false, .flags = {"nouuid"}}));
    }
    RETURN_IF_ERROR(WriteAtUndoPath(undo_path, "a change of the UUID\n"));
    ASSIGN_OR_RETURN(
        const os::CommandResult result,
        RunMaintenance({"xfs_db", "-x", "-p", "holdfast", "-c", "uuid " + uuid, device.path}));
    if (result.exit_code != 0 || LostWrites(result)) {
      return Internal("cannot change the UUID of the xfs on {}: xfs_db ended with {}", device.path,
                      DescribeEnd(result));
    }
    RETURN_IF_ERROR(os::FlushBlockDevice(device));
    // The kernel reads the log, and finds what cannot be.
    RETURN_IF_ERROR(os::MountForAMoment(
        {.device = device.path, .filesystem = "xfs", .read_only = false, .flags = {}}));
    return RemoveDurably(undo_path);
  }

  absl::StatusOr<bool> CanGrow(const os::BlockDevice& device,
                               const std::string& mount_path) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd root, OpenMountedRoot(device, mount_path));
    ASSIGN_OR_RETURN(const xfs_fsop_geom geometry, ReadGeometry(root.get(), mount_path));
    return ReachableBlocks(geometry, device.size) > geometry.datablocks;
  }

  // The new size is in the log alone at first, and the log recovery of older kernels (6.1 seen)
  // rejects what it finds in the new part of the filesystem: after a power cut the volume could not
  // be mounted. So the superblock is written to its place before success is reported.
  absl::Status Grow(const os::BlockDevice& device, const std::string& mount_path,
                    const FreezeForAMoment& freeze) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd root, OpenMountedRoot(device, mount_path));
    ASSIGN_OR_RETURN(const xfs_fsop_geom before, ReadGeometry(root.get(), mount_path));
    const std::uint64_t target = ReachableBlocks(before, device.size);
    // Also when there is nothing left to grow: an earlier call may have been killed before its
    // second freeze.
    RETURN_IF_ERROR(freeze(root.get()));
    if (target == before.datablocks) return absl::OkStatus();
    xfs_growfs_data request{.newblocks = target, .imaxpct = before.imaxpct};
    if (::ioctl(root.get(), XFS_IOC_FSGROWFSDATA, &request) != 0) {
      return OsError(errno, fmt::format("cannot grow xfs at '{}' from {} to {} blocks", mount_path,
                                        before.datablocks, target));
    }
    ASSIGN_OR_RETURN(const xfs_fsop_geom after, ReadGeometry(root.get(), mount_path));
    if (after.datablocks >= target) return freeze(root.get());
    return Internal("xfs at '{}' has {} blocks after growing to {}", mount_path, after.datablocks,
                    target);
  }

  absl::StatusOr<bool> IsOfMkfsAlone(const os::BlockDevice& device) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDONLY));
    return IsUnusedXfs(fd.get(), device.size);
  }

  bool HasRecordedErrors(const os::BlockDevice&) const override { return false; }

  absl::StatusOr<std::vector<std::string>> ParseMkfsOptions(
      const std::string& text) const override {
    return ParseMkfsWords("mkfs.xfs", text, XfsOptions());
  }

  absl::Status RequireSectors(const std::vector<std::string>& options,
                              std::uint32_t sector_size) const override {
    RETURN_IF_ERROR(RequireSizeOf(options, "-b", "size=", sector_size));
    return RequireSizeOf(options, "-s", "size=", sector_size);
  }
};

}  // namespace

const Filesystem& Xfs() {
  static const XfsFilesystem filesystem;
  return filesystem;
}

}  // namespace holdfast::fs
