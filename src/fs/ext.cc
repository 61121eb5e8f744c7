// SPDX-License-Identifier: Apache-2.0
// ext3 and ext4: mke2fs(8), e2fsck(8), resize2fs(8); growth while mounted by EXT4_IOC_RESIZE_FS.
#include <ext2fs/ext2_fs.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>

#include "core/log.h"
#include "fs/ext_growth.h"
#include "fs/ext_identity.h"
#include "fs/ext_superblock.h"
#include "fs/ext_undo.h"
#include "fs/filesystems.h"
#include "fs/format_programs.h"
#include "fs/mkfs_options.h"
#include "fs/mounted_volumes.h"
#include "fs/superblock.h"
#include "os/capabilities.h"
#include "os/device_use.h"

namespace holdfast::fs {
namespace {

// The features that can be switched without making libblkid report another type (ext3 and ext4
// differ by features alone), without losing the journal, and without losing growth.
std::vector<std::string_view> SwitchableFeatures(bool ext4) {
  if (!ext4) return {"dir_index", "^dir_index", "large_file"};
  return {"dir_index",
          "^dir_index",
          "64bit",
          "^64bit",
          "metadata_csum",
          "^metadata_csum",
          "huge_file",
          "^huge_file",
          "extra_isize",
          "^extra_isize",
          "dir_nlink",
          "^dir_nlink",
          "flex_bg",
          "^flex_bg",
          "large_file",
          "large_dir",
          "inline_data",
          "ea_inode",
          "encrypt",
          "verity",
          "casefold",
          "quota",
          "project",
          "fast_commit",
          "stable_inodes",
          "orphan_file",
          "^orphan_file",
          "metadata_csum_seed",
          "^metadata_csum_seed"};
}

std::vector<MkfsOption> ExtOptions(bool ext4) {
  using enum MkfsOption::Form;
  return {
      {"-b", kNames, {"1024", "2048", "4096"}},
      {"-e", kNames, {"continue", "remount-ro"}},
      {"-i", kValue},
      {"-I", kValue},
      {"-N", kValue},
      {"-m", kValue},
      {"-G", kValue},
      {"-J", kKeys, {"size", "fast_commit_size"}},
      {"-E",
       kKeys,
       {"stride", "stripe_width", "stripe-width", "lazy_itable_init", "lazy_journal_init",
        "packed_meta_blocks", "root_owner", "quotatype", "encoding", "encoding_flags"}},
      {"-O", kNames, SwitchableFeatures(ext4)},
      {"-T", kNames, {"small", "big", "huge", "news", "largefile", "largefile4"}},
  };
}

// mke2fs uses only the last -E, so the user's and ours are merged; within it the last key wins.
std::vector<std::string> MergeExtended(std::string extended, std::vector<std::string> extra) {
  const auto option = std::ranges::find(extra, "-E");
  if (option != extra.end()) {
    extended += "," + *std::next(option);
    extra.erase(option, option + 2);
  }
  extra.insert(extra.begin(), {"-E", std::move(extended)});
  return extra;
}

// A filesystem that did not grow is mounted with its size: its data must not wait for the growth.
// Damage that the check found is an error.
absl::Status SettleFailedGrowth(const absl::Status& failed, const os::BlockDevice& device,
                                const ExtSuperblock& superblock, const std::string& undo_path) {
  RETURN_IF_ERROR(UndoInterrupted(device, undo_path));
  if (absl::IsDataLoss(failed)) return WithCode(failed, absl::StatusCode::kFailedPrecondition);
  LogWarning(
      "the filesystem on {} keeps its {} blocks, because it cannot be grown before the mount: {}; "
      "grant CAP_SYS_RESOURCE, so that it grows while mounted, or grow it by hand",
      device.path, superblock.blocks, MessageOf(failed));
  return absl::OkStatus();
}

// The reason for the kernel's EPERM (ext4_resize_begin), which the kernel does not give.
absl::Status ExplainRefusal(const ExtSuperblock& superblock, const std::string& mount_path) {
  if (superblock.has_errors) {
    return FailedPrecondition(
        "cannot grow the filesystem at '{}' while mounted: it has recorded errors; unmount it "
        "everywhere, and it is checked before the next mount",
        mount_path);
  }
  if (!os::HasCapSysResource()) {
    return FailedPrecondition(
        "cannot grow the filesystem at '{}' while mounted: ext4 asks for CAP_SYS_RESOURCE, which "
        "this process lacks; grant it, or unmount the volume everywhere: it grows before the next "
        "mount, or the log says there why it cannot",
        mount_path);
  }
  return FailedPrecondition(
      "cannot grow the filesystem at '{}' while mounted: the kernel refuses it (EPERM), its log "
      "has the reason",
      mount_path);
}

// The kernel writes the time of a mount for writing before mount(2) returns (ext4_setup_super), and
// no program resets it: e2fsck and tune2fs change only the count.
absl::StatusOr<bool> IsUnusedExt(int fd) {
  constexpr Bytes kSuperblock = 1024;
  ASSIGN_OR_RETURN(const Piece piece, ReadPiece(fd, 0));
  const auto superblock = At<ext2_super_block>(piece, kSuperblock);
  return le16toh(superblock.s_magic) == EXT2_SUPER_MAGIC && superblock.s_mtime == 0 &&
         superblock.s_mtime_hi == 0 && superblock.s_mnt_count == 0 &&
         superblock.s_last_mounted[0] == 0;
}

class ExtFilesystem final : public Filesystem {
 public:
  ExtFilesystem(std::string_view name, bool ext4) : name_(name), allowed_(ExtOptions(ext4)) {}

  std::string_view name() const override { return name_; }
  // Below 8 MiB mke2fs leaves the journal out.
  Bytes min_size() const override { return 16 * kMiB; }
  std::string_view package() const override { return "e2fsprogs"; }
  std::string_view kernel_module() const override { return "ext4"; }
  std::vector<std::string> programs() const override {
    return {Mkfs(), "e2fsck", "resize2fs", "tune2fs"};
  }

  // Blocks of 4 KiB, because mke2fs uses 1 KiB below 512 MiB and such a filesystem grows badly. No
  // reserve for root: the volume's user gets all of it.
  absl::Status Make(const os::BlockDevice& device, const FormatOptions& options) const override {
    std::string extended = "lazy_itable_init=1,lazy_journal_init=1";
    if (options.keep_allocation) extended += ",nodiscard";
    std::vector<std::string> argv = {Mkfs(), "-q", "-b", "4096", "-m", "0", "-U", options.uuid};
    const std::vector<std::string> words = MergeExtended(std::move(extended), options.extra);
    argv.insert(argv.end(), words.begin(), words.end());
    return RunMkfs(std::move(argv), device);
  }

  absl::Status UndoInterrupted(const os::BlockDevice& device,
                               const std::string& undo_path) const override {
    return fs::UndoInterrupted(device, undo_path);
  }

  absl::StatusOr<bool> PrepareMount(const os::BlockDevice& device,
                                    const std::string& undo_path) const override {
    if (IsCleanAndFull(device)) return true;
    // e2fsck would repair a filesystem that is mounted only through read-only binds.
    const absl::Status unclaimed = os::RequireUnclaimed(device);
    if (absl::IsFailedPrecondition(unclaimed)) return false;
    RETURN_IF_ERROR(unclaimed);
    ASSIGN_OR_RETURN(const ExtSuperblock superblock, ReadExtSuperblock(device, Mounted::kNo));
    if (superblock.has_errors) RETURN_IF_ERROR(RepairUnmounted(device, undo_path));
    const std::uint64_t reachable = ReachableBlocks(superblock, device.size);
    if (reachable == superblock.blocks) return true;
    if (os::HasCapSysResource()) return false;
    const absl::Status grown = GrowUnmounted(device, superblock, reachable, undo_path);
    if (grown.ok()) return true;
    RETURN_IF_ERROR(SettleFailedGrowth(grown, device, superblock, undo_path));
    return false;
  }

  absl::Status ChangeUuid(const os::BlockDevice& device, const std::string& uuid,
                          const std::string& undo_path) const override {
    return ChangeUuidUnmounted(device, uuid, undo_path);
  }

  absl::StatusOr<bool> CanGrow(const os::BlockDevice& device,
                               const std::string& mount_path) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd root, OpenMountedRoot(device, mount_path));
    if (IsCleanAndFull(device)) return false;
    ASSIGN_OR_RETURN(const ExtSuperblock superblock, ReadExtSuperblock(device, Mounted::kYes));
    return ReachableBlocks(superblock, device.size) > superblock.blocks;
  }

  absl::Status Grow(const os::BlockDevice& device, const std::string& mount_path,
                    const FreezeForAMoment& freeze) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd root, OpenMountedRoot(device, mount_path));
    ASSIGN_OR_RETURN(const ExtSuperblock before, ReadExtSuperblock(device, Mounted::kYes));
    __u64 target = ReachableBlocks(before, device.size);
    if (target == before.blocks) return absl::OkStatus();
    if (!os::HasCapSysResource()) return ExplainRefusal(before, mount_path);
    RETURN_IF_ERROR(freeze(root.get()));
    if (::ioctl(root.get(), EXT4_IOC_RESIZE_FS, &target) != 0) {
      const int error = errno;
      if (error == EPERM) return ExplainRefusal(before, mount_path);
      return OsError(error, fmt::format("cannot grow the filesystem at '{}' from {} to {} blocks",
                                        mount_path, before.blocks, target));
    }
    ASSIGN_OR_RETURN(const ExtSuperblock after, ReadExtSuperblock(device, Mounted::kYes));
    if (after.blocks >= target) return absl::OkStatus();
    return Internal("the filesystem at '{}' has {} blocks after growing to {}", mount_path,
                    after.blocks, target);
  }

  absl::StatusOr<bool> IsOfMkfsAlone(const os::BlockDevice& device) const override {
    ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDONLY));
    return IsUnusedExt(fd.get());
  }

  bool HasRecordedErrors(const os::BlockDevice& device) const override {
    return ExtHasErrors(device);
  }

  absl::StatusOr<std::vector<std::string>> ParseMkfsOptions(
      const std::string& text) const override {
    return ParseMkfsWords(Mkfs(), text, allowed_);
  }

  absl::Status RequireSectors(const std::vector<std::string>& options,
                              std::uint32_t sector_size) const override {
    return RequireSizeOf(options, "-b", "", sector_size);
  }

 private:
  [[nodiscard]] std::string Mkfs() const { return fmt::format("mkfs.{}", name_); }

  std::string_view name_;
  std::vector<MkfsOption> allowed_;
};

}  // namespace

const Filesystem& Ext3() {
  static const ExtFilesystem filesystem("ext3", false);
  return filesystem;
}

const Filesystem& Ext4() {
  static const ExtFilesystem filesystem("ext4", true);
  return filesystem;
}

}  // namespace holdfast::fs
