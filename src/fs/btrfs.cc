// SPDX-License-Identifier: Apache-2.0
// btrfs on one device: mkfs.btrfs(8); growth by btrfs-filesystem(8), whose ioctl is
// BTRFS_IOC_RESIZE (fs/btrfs/ioctl.c).
#include <fcntl.h>
#include <linux/btrfs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>

#include "core/long_work.h"
#include "fs/btrfs_chunks.h"
#include "fs/btrfs_identity.h"
#include "fs/filesystems.h"
#include "fs/format_programs.h"
#include "fs/mkfs_options.h"
#include "fs/mounted_volumes.h"
#include "fs/superblock.h"
#include "os/process.h"

namespace holdfast::fs {
namespace {

const std::vector<MkfsOption>& BtrfsOptions() {
  using enum MkfsOption::Form;
  static const std::vector<MkfsOption> options = {
      {"-n", kValue},
      {"--nodesize", kValue},
      {"-s", kValue},
      {"--sectorsize", kValue},
      {"-m", kNames, {"single", "dup"}},
      {"--metadata", kNames, {"single", "dup"}},
      {"-d", kNames, {"single", "dup"}},
      {"--data", kNames, {"single", "dup"}},
      {"-M", kFlag},
      {"--mixed", kFlag},
      {"--csum", kNames, {"crc32c", "xxhash", "sha256", "blake2"}},
      {"-O", kNames, {"mixed-bg", "extref", "skinny-metadata", "no-holes", "^no-holes"}},
      {"-R", kNames, {"quota", "free-space-tree", "^free-space-tree"}},
  };
  return options;
}

// Before it writes, mkfs.btrfs inspects all mounted loop devices, and fails if one of them is
// detached meanwhile (check_mounted, btrfs-progs 6.2).
constexpr std::string_view kOthersChanged = "cannot check mount status";
constexpr int kMkfsAttempts = 10;

struct BtrfsSize {
  std::uint64_t total = 0;      // the part of the device that the filesystem uses
  std::uint64_t reachable = 0;  // the size to which the kernel would grow it
};

absl::StatusOr<BtrfsSize> ReadSize(int root_fd, const os::BlockDevice& device,
                                   const std::string& mount_path) {
  btrfs_ioctl_fs_info_args filesystem{};
  btrfs_ioctl_dev_info_args member{};
  member.devid = 1;  // mkfs gives it to the first device, and there is only one
  if (::ioctl(root_fd, BTRFS_IOC_FS_INFO, &filesystem) != 0 ||
      ::ioctl(root_fd, BTRFS_IOC_DEV_INFO, &member) != 0) {
    return OsError(errno, fmt::format("cannot read the btrfs size at '{}'", mount_path));
  }
  const Bytes reachable = AlignDown(device.size, filesystem.sectorsize);
  return BtrfsSize{.total = member.total_bytes,
                   .reachable = std::max(static_cast<std::uint64_t>(reachable),
                                         std::uint64_t{member.total_bytes})};
}

// Longer than a growth takes on a busy disk: it writes one transaction.
constexpr std::chrono::seconds kResizeTime{5};
// As long as another program may keep a filesystem frozen.
constexpr std::chrono::hours kLongestFreeze{24};

// Growths in progress, by device number; the growth of a frozen filesystem continues until the
// thaw.
LongWork& Resizes() {
  static auto& resizes = *new LongWork(kResizeTime);
  return resizes;
}

std::string KeyOf(dev_t device) { return fmt::to_string(device); }

absl::Status GrowsWhenThawed(const absl::Status& waited) {
  return MakeStatus(
      waited.code(),
      fmt::format("{}; a filesystem that another program holds frozen grows when it is thawed",
                  MessageOf(waited)));
}

// A child does it, because the kernel makes the ioctl wait, uninterruptibly, while another program
// holds the filesystem frozen: a driver that waited there itself would keep its locks after a
// SIGKILL until the thaw. Trying a freeze first would detect that, but a process that is killed
// while it thaws a btrfs leaves it read-only: the thaw compares the superblock on disk with the one
// in memory, and the kill interrupts that read, which counts as a difference (btrfs_unfreeze, seen
// with Linux 6.18).
absl::Status ResizeToDevice(const os::BlockDevice& device, const std::string& mount_path) {
  ASSIGN_OR_RETURN(os::UniqueFd opened, OpenMountedRoot(device, mount_path));
  const auto root = std::make_shared<os::UniqueFd>(std::move(opened));
  const auto resized = std::make_shared<absl::Status>();
  const absl::Status waited = Resizes().Run(
      KeyOf(device.number), fmt::format("the growth of btrfs at '{}'", mount_path),
      [root, resized] {
        *resized = os::RunCommandIn(root->get(), {"btrfs", "filesystem", "resize", "max", "."},
                                    kLongestFreeze);
        *root = os::UniqueFd();  // an open descriptor keeps the mount busy
      });
  return waited.ok() ? *resized : GrowsWhenThawed(waited);
}

constexpr Bytes kPrimarySuperblock = 64 * kKiB;

// Offsets in btrfs_super_block (include/uapi/linux/btrfs_tree.h). mkfs.btrfs commits six times
// (more with quotas), never fills the tree log and leaves the UUID tree's generation unset. Writes
// of the kernel count from its first commit, which raises the generation and sets that of the UUID
// tree, or from an fsync, which fills the tree log.
absl::StatusOr<bool> IsUnusedBtrfs(int fd) {
  constexpr std::uint64_t kLastOfMkfs = 6;
  ASSIGN_OR_RETURN(const Piece superblock, ReadPiece(fd, kPrimarySuperblock));
  const std::uint64_t generation = Little64(superblock, 72);
  const std::uint64_t log_root = Little64(superblock, 96);
  const std::uint64_t uuid_tree_generation = Little64(superblock, 563);
  return generation <= kLastOfMkfs && log_root == 0 && uuid_tree_generation == 0;
}

// Of the first superblock (btrfs-progs, kernel-shared/ctree.h).
constexpr std::size_t kFlags = 0x38;
constexpr std::uint64_t kChangingFsid = std::uint64_t{1} << 35;

// Whether a change of the UUID has begun and not ended.
absl::StatusOr<bool> IsChangingUuid(const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const os::UniqueFd node, os::OpenBlockDevice(device, O_RDONLY));
  ASSIGN_OR_RETURN(const Piece superblock, ReadPiece(node.get(), kPrimarySuperblock));
  return (Little64(superblock, kFlags) & kChangingFsid) != 0;
}

bool HasUuid(const os::BlockDevice& device, const std::string& uuid) {
  const auto node = os::OpenBlockDevice(device, O_RDONLY);
  return node.ok() && HasSuperblock(node->get(), "btrfs", uuid);
}

class BtrfsFilesystem final : public Filesystem {
 public:
  std::string_view name() const override { return "btrfs"; }
  // mkfs.btrfs accepts 109 MiB, but the kernel never resizes to less than 256 MiB (EINVAL): a
  // smaller volume could not grow in small steps.
  Bytes min_size() const override { return 256 * kMiB; }
  std::string_view package() const override { return "btrfs-progs"; }
  std::vector<std::string> programs() const override {
    return {"mkfs.btrfs", "btrfs", "btrfstune"};
  }

  // Never -f: mkfs.btrfs then refuses a device that holds something, a second guard.
  absl::Status Make(const os::BlockDevice& device, const FormatOptions& options) const override {
    std::vector<std::string> argv = {"mkfs.btrfs", "-q", "-U", options.uuid};
    if (options.keep_allocation) argv.emplace_back("-K");
    argv.insert(argv.end(), options.extra.begin(), options.extra.end());
    absl::Status made;
    for (int attempt = 0; attempt < kMkfsAttempts; ++attempt) {
      made = RunMkfs(argv, device);
      if (MessageOf(made).find(kOthersChanged) == std::string::npos) break;
    }
    return made;
  }

  absl::Status UndoInterrupted(const os::BlockDevice&, const std::string&) const override {
    return absl::OkStatus();
  }
  absl::StatusOr<bool> PrepareMount(const os::BlockDevice&, const std::string&) const override {
    return false;
  }

  absl::Status ChangeUuid(const os::BlockDevice& device, const std::string& uuid,
                          const std::string&) const override {
    ASSIGN_OR_RETURN(const bool interrupted, IsChangingUuid(device));
    if (!interrupted && HasUuid(device, uuid)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool keeps, KeepsMetadataUuid(device));
    if (!interrupted && keeps) return ChangeBtrfsSuperblock(device, uuid);
    // Not -M: what a kill leaves of that no program completes. -U writes all metadata, and -u goes
    // on where it was interrupted.
    std::vector<std::string> argv = {"btrfstune", "-f"};
    if (interrupted) {
      argv.emplace_back("-u");
    } else {
      argv.insert(argv.end(), {"-U", uuid});
    }
    argv.push_back(device.path);
    ASSIGN_OR_RETURN(const os::CommandResult result, RunMaintenance(argv));
    if (result.exit_code != 0) {
      return Internal("cannot change the UUID of the btrfs on {}: btrfstune ended with {}",
                      device.path, DescribeEnd(result));
    }
    return os::FlushBlockDevice(device);
  }

  absl::StatusOr<bool> CanGrow(const os::BlockDevice& device,
                               const std::string& mount_path) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd root, OpenMountedRoot(device, mount_path));
    ASSIGN_OR_RETURN(const BtrfsSize size, ReadSize(root.get(), device, mount_path));
    return size.reachable > size.total;
  }

  absl::Status Grow(const os::BlockDevice& device, const std::string& mount_path,
                    const FreezeForAMoment&) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd root, OpenMountedRoot(device, mount_path));
    const absl::Status earlier = Resizes().Await(KeyOf(device.number));
    if (!earlier.ok()) return GrowsWhenThawed(earlier);
    ASSIGN_OR_RETURN(const BtrfsSize before, ReadSize(root.get(), device, mount_path));
    if (before.reachable == before.total) return absl::OkStatus();
    const absl::Status resized = ResizeToDevice(device, mount_path);
    if (absl::IsUnavailable(resized)) return resized;
    // Only the size counts, not the program's answer: the child of a killed driver may have been
    // faster.
    ASSIGN_OR_RETURN(const BtrfsSize after, ReadSize(root.get(), device, mount_path));
    if (after.reachable == after.total) return absl::OkStatus();
    RETURN_IF_ERROR(Annotate(resized, fmt::format("cannot grow btrfs at '{}'", mount_path)));
    return Internal("btrfs at '{}' has {} of {} bytes after growing", mount_path, after.total,
                    after.reachable);
  }

  absl::StatusOr<bool> IsOfMkfsAlone(const os::BlockDevice& device) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDONLY));
    return IsUnusedBtrfs(fd.get());
  }

  bool HasRecordedErrors(const os::BlockDevice&) const override { return false; }

  // Always a whole chunk: a trim that begins within free space leaves that out (Linux 6.18).
  absl::StatusOr<std::optional<AddressRange>> NextToTrim(int root_fd, const os::BlockDevice&,
                                                         Bytes from) const override {
    return NextBtrfsChunk(root_fd, from);
  }

  absl::StatusOr<std::vector<std::string>> ParseMkfsOptions(
      const std::string& text) const override {
    return ParseMkfsWords("mkfs.btrfs", text, BtrfsOptions());
  }
};

}  // namespace

const Filesystem& Btrfs() {
  static const BtrfsFilesystem filesystem;
  return filesystem;
}

void AwaitGrowth(dev_t device) { Resizes().Await(KeyOf(device)).IgnoreError(); }

}  // namespace holdfast::fs
