// SPDX-License-Identifier: Apache-2.0
// btrfs on one device: mkfs.btrfs(8); growth by BTRFS_IOC_RESIZE (fs/btrfs/ioctl.c).
#include <linux/btrfs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "core/long_work.h"
#include "fs/filesystems.h"
#include "fs/format_programs.h"
#include "fs/mkfs_options.h"
#include "fs/mounted_root.h"

namespace holdfast::fs {
namespace {

const std::vector<MkfsOption>& AllowedOptions() {
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

// Before it writes, mkfs.btrfs looks at all loop devices that are mounted, and fails if one of them
// is detached meanwhile (check_mounted, btrfs-progs 6.2).
constexpr std::string_view kOthersChanged = "cannot check mount status";
constexpr int kMkfsAttempts = 10;

struct BtrfsSize {
  std::uint64_t total = 0;      // what the filesystem uses of its device
  std::uint64_t reachable = 0;  // what the kernel would make of it
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

// More than a growth takes, which writes one transaction, on a busy disk.
constexpr std::chrono::seconds kResizeTime{5};

// Growths that have begun, by the number of their device; those of frozen filesystems go on until
// these are thawed.
LongWork& Resizes() {
  static auto& resizes = *new LongWork(kResizeTime);
  return resizes;
}

std::string KeyOf(dev_t device) { return fmt::to_string(device); }

// On a thread of its own, because the kernel makes the ioctl wait, uninterruptibly, while another
// program holds the filesystem frozen. To try a freeze first would tell sooner, but a process that
// is killed while it thaws a btrfs leaves it read-only: the thaw reads the superblock to see that
// nobody has changed it, and a read that the kill has interrupted counts as a change
// (btrfs_unfreeze, seen with Linux 6.18).
absl::Status ResizeToDevice(const os::BlockDevice& device, const std::string& mount_path) {
  ASSIGN_OR_RETURN(os::UniqueFd opened, OpenMountedRoot(device, mount_path));
  const auto root = std::make_shared<os::UniqueFd>(std::move(opened));
  const auto error = std::make_shared<int>(0);
  const absl::Status waited = Resizes().Run(
      KeyOf(device.number), fmt::format("the growth of btrfs at '{}'", mount_path), [root, error] {
        btrfs_ioctl_vol_args request{};
        std::strncpy(request.name, "max", sizeof(request.name) - 1);
        if (::ioctl(root->get(), BTRFS_IOC_RESIZE, &request) < 0) *error = errno;
        *root = os::UniqueFd();  // an open descriptor keeps the mount busy
      });
  if (!waited.ok()) {
    return MakeStatus(waited.code(), fmt::format("{}; a filesystem that another program holds "
                                                 "frozen grows when it is thawed",
                                                 MessageOf(waited)));
  }
  if (*error == 0) return absl::OkStatus();
  return OsError(*error, fmt::format("cannot grow btrfs at '{}'", mount_path));
}

class BtrfsFilesystem final : public Filesystem {
 public:
  std::string_view name() const override { return "btrfs"; }
  // mkfs.btrfs takes 109 MiB, but the kernel never resizes to less than 256 MiB (EINVAL): a smaller
  // volume could not be grown a little.
  Bytes min_size() const override { return 256 * kMiB; }
  std::vector<std::string> programs() const override { return {"mkfs.btrfs"}; }

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

  absl::StatusOr<bool> CanGrow(const os::BlockDevice& device,
                               const std::string& mount_path) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd root, OpenMountedRoot(device, mount_path));
    ASSIGN_OR_RETURN(const BtrfsSize size, ReadSize(root.get(), device, mount_path));
    return size.reachable > size.total;
  }

  absl::Status Grow(const os::BlockDevice& device, const std::string& mount_path,
                    const FreezeForAMoment&) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd root, OpenMountedRoot(device, mount_path));
    ASSIGN_OR_RETURN(const BtrfsSize before, ReadSize(root.get(), device, mount_path));
    const bool is_growing = Resizes().IsUnderWay(KeyOf(device.number));
    if (before.reachable == before.total && !is_growing) return absl::OkStatus();
    RETURN_IF_ERROR(ResizeToDevice(device, mount_path));
    // A positive answer of the ioctl (a balance or the like is running) shows here, too.
    ASSIGN_OR_RETURN(const BtrfsSize after, ReadSize(root.get(), device, mount_path));
    if (after.reachable == after.total) return absl::OkStatus();
    return Internal(
        "btrfs at '{}' has {} of {} bytes after growing; a running balance or device "
        "operation keeps it from growing",
        mount_path, after.total, after.reachable);
  }

  bool HasRecordedErrors(const os::BlockDevice&) const override { return false; }

  absl::StatusOr<std::vector<std::string>> ParseMkfsOptions(
      const std::string& text) const override {
    return ParseMkfsWords("mkfs.btrfs", text, AllowedOptions());
  }
};

}  // namespace

const Filesystem& Btrfs() {
  static const BtrfsFilesystem filesystem;
  return filesystem;
}

void AwaitGrowth(dev_t device) { Resizes().Await(KeyOf(device)).IgnoreError(); }

}  // namespace holdfast::fs
