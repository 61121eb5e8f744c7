// SPDX-License-Identifier: Apache-2.0
#include "fs/ext_superblock.h"

extern "C" {
#include <et/com_err.h>
#include <ext2fs/ext2fs.h>
}

#include <fcntl.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>

#include "os/unique_fd.h"

namespace holdfast::fs {
namespace {

struct CloseExt {
  void operator()(ext2_filsys filesystem) const { ext2fs_free(filesystem); }
};
using ExtHandle = std::unique_ptr<struct_ext2_filsys, CloseExt>;

// A last group with less space than this beyond its metadata is not created (resize2fs, mke2fs).
constexpr std::uint64_t kMinDataBlocks = 50;
// resize2fs works in units of a page.
constexpr Bytes kSizeUnit = 4 * kKiB;

void RegisterErrorMessages() {
  static const bool done = [] {
    initialize_ext2_error_table();
    return true;
  }();
  static_cast<void>(done);
}

bool IsDamage(errcode_t error) {
  return error == EXT2_ET_BAD_MAGIC || error == EXT2_ET_SB_CSUM_INVALID ||
         error == EXT2_ET_CORRUPT_SUPERBLOCK || error == EXT2_ET_UNKNOWN_CSUM ||
         error == EXT2_ET_UNSUPP_FEATURE || error == EXT2_ET_RO_UNSUPP_FEATURE ||
         error == EXT2_ET_REV_TOO_HIGH || error == EXT2_ET_BAD_DESC_SIZE;
}

absl::Status OpenError(errcode_t error, const std::string& path) {
  if (IsDamage(error)) {
    return FailedPrecondition(
        "{} holds no usable ext superblock: {}; repair it by hand: e2fsck -f {}", path,
        error_message(error), path);
  }
  return Internal("cannot read the ext superblock of {}: {}", path, error_message(error));
}

std::uint32_t MetadataBlocks(const struct_ext2_filsys& filesystem) {
  const std::uint32_t bitmaps_and_inodes = 2 + filesystem.inode_blocks_per_group;
  const std::uint32_t superblock_copy = 1;
  return bitmaps_and_inodes + superblock_copy + static_cast<std::uint32_t>(filesystem.desc_blocks) +
         filesystem.super->s_reserved_gdt_blocks;
}

// The superblock keeps a copy of the journal's inode: 15 block numbers, then its size.
Bytes JournalToReplay(ext2_super_block& superblock) {
  if (ext2fs_has_feature_journal_needs_recovery(&superblock) == 0) return 0;
  return static_cast<Bytes>(superblock.s_jnl_blocks[15]) << 32U | superblock.s_jnl_blocks[16];
}

// As libext2fs computes it, which itself requires an open filesystem.
std::uint32_t ChecksumOf(const ext2_super_block& superblock) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&superblock);
  return ext2fs_crc32c_le(~0U, bytes, offsetof(ext2_super_block, s_checksum));
}

bool HasGoodChecksum(ext2_super_block& superblock) {
  return ext2fs_has_feature_metadata_csum(&superblock) == 0 ||
         ChecksumOf(superblock) == superblock.s_checksum;
}

// The superblock on disk, if it looks like one.
std::optional<ext2_super_block> Peek(const os::BlockDevice& device) {
  ext2_super_block superblock{};
  const os::UniqueFd fd(::open(device.path.c_str(), O_RDONLY | O_CLOEXEC));
  constexpr std::uint32_t kLargestLogBlockSize = 6;  // 64 KiB
  if (!fd.valid() ||
      ::pread(fd.get(), &superblock, sizeof(superblock), SUPERBLOCK_OFFSET) !=
          static_cast<ssize_t>(sizeof(superblock)) ||
      superblock.s_magic != EXT2_SUPER_MAGIC ||
      superblock.s_log_block_size > kLargestLogBlockSize) {
    return std::nullopt;
  }
  return superblock;
}

bool IsClean(ext2_super_block& superblock) {
  return HasGoodChecksum(superblock) &&
         (superblock.s_state & (EXT2_VALID_FS | EXT2_ERROR_FS)) == EXT2_VALID_FS &&
         ext2fs_has_feature_journal_needs_recovery(&superblock) == 0 &&
         ext2fs_has_feature_orphan_present(&superblock) == 0 && superblock.s_last_orphan == 0;
}

// The checksums of group descriptors before metadata_csum (uninit_bg) cover the UUID.
bool NeedsMoreThanSuperblock(ext2_super_block& superblock) {
  return ext2fs_has_feature_mmp(&superblock) != 0 ||
         (ext2fs_has_feature_gdt_csum(&superblock) != 0 &&
          ext2fs_has_feature_metadata_csum(&superblock) == 0);
}

// Checksums begin with the UUID unless the superblock names another seed (Linux 4.4, e2fsprogs
// 1.43), so that of the old one is named.
void SetUuid(ext2_super_block& superblock, const std::string& uuid) {
  const bool has_checksums = ext2fs_has_feature_metadata_csum(&superblock) != 0;
  if (has_checksums && ext2fs_has_feature_csum_seed(&superblock) == 0) {
    superblock.s_checksum_seed =
        ext2fs_crc32c_le(~0U, superblock.s_uuid, sizeof(superblock.s_uuid));
    ext2fs_set_feature_csum_seed(&superblock);
  }
  uuid_parse(uuid.c_str(), superblock.s_uuid);
  if (has_checksums) superblock.s_checksum = ChecksumOf(superblock);
}

}  // namespace

absl::StatusOr<ExtSuperblock> ReadExtSuperblock(const os::BlockDevice& device, Mounted mounted) {
  RegisterErrorMessages();
  int flags = EXT2_FLAG_SUPER_ONLY | EXT2_FLAG_64BITS;
  if (mounted == Mounted::kYes) flags |= EXT2_FLAG_IGNORE_CSUM_ERRORS;
  ext2_filsys opened = nullptr;
  const errcode_t error = ext2fs_open(device.path.c_str(), flags, 0, 0, unix_io_manager, &opened);
  const ExtHandle filesystem(opened);
  if (error != 0) return OpenError(error, device.path);
  return ExtSuperblock{
      .blocks = ext2fs_blocks_count(filesystem->super),
      .block_size = filesystem->blocksize,
      .first_block = filesystem->super->s_first_data_block,
      .blocks_per_group = filesystem->super->s_blocks_per_group,
      .metadata_blocks = MetadataBlocks(*filesystem),
      .inode_table_blocks = static_cast<std::uint32_t>(filesystem->inode_blocks_per_group),
      .descriptor_size = static_cast<std::uint32_t>(EXT2_DESC_SIZE(filesystem->super)),
      .reserved_descriptor_blocks = filesystem->super->s_reserved_gdt_blocks,
      .has_group_checksums = ext2fs_has_group_desc_csum(filesystem.get()) != 0,
      .journal_to_replay = JournalToReplay(*filesystem->super),
      .block_numbers_64bit = ext2fs_has_feature_64bit(filesystem->super) != 0,
      .has_checksums = ext2fs_has_feature_metadata_csum(filesystem->super) != 0,
      .has_errors = (filesystem->super->s_state & EXT2_ERROR_FS) != 0,
  };
}

bool IsCleanAndFull(const os::BlockDevice& device) {
  const std::optional<ext2_super_block> superblock = Peek(device);
  if (!superblock || (superblock->s_state & EXT2_ERROR_FS) != 0) return false;
  ext2_super_block copy = *superblock;  // the library's accessors do not accept const
  if (!HasGoodChecksum(copy)) return false;
  const std::uint64_t size = ext2fs_blocks_count(&copy)
                             << (EXT2_MIN_BLOCK_LOG_SIZE + copy.s_log_block_size);
  return size >= static_cast<std::uint64_t>(AlignDown(device.size, kSizeUnit));
}

bool IsCleanExt(const os::BlockDevice& device) {
  std::optional<ext2_super_block> superblock = Peek(device);
  return superblock && IsClean(*superblock);
}

bool CanWriteExtUuid(const os::BlockDevice& device) {
  std::optional<ext2_super_block> superblock = Peek(device);
  return superblock && IsClean(*superblock) && !NeedsMoreThanSuperblock(*superblock);
}

absl::Status WriteExtUuid(const os::BlockDevice& device, const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::UniqueFd node, os::OpenBlockDevice(device, O_RDWR | O_EXCL));
  std::optional<ext2_super_block> superblock = Peek(device);
  if (!superblock || !IsClean(*superblock) || NeedsMoreThanSuperblock(*superblock)) {
    return FailedPrecondition("the UUID on {} does not stand in the superblock alone", device.path);
  }
  SetUuid(*superblock, uuid);
  if (::pwrite(node.get(), &*superblock, sizeof(*superblock), SUPERBLOCK_OFFSET) !=
          static_cast<ssize_t>(sizeof(*superblock)) ||
      ::fsync(node.get()) != 0) {
    return OsError(errno, fmt::format("cannot write the superblock of {}", device.path));
  }
  return absl::OkStatus();
}

bool ExtHasErrors(const os::BlockDevice& device) {
  const std::optional<ext2_super_block> superblock = Peek(device);
  return superblock && (superblock->s_state & EXT2_ERROR_FS) != 0;
}

std::uint64_t ReachableBlocks(const ExtSuperblock& superblock, Bytes size) {
  std::uint64_t blocks =
      static_cast<std::uint64_t>(AlignDown(size, kSizeUnit)) / superblock.block_size;
  if (!superblock.block_numbers_64bit) {
    blocks = std::min<std::uint64_t>(blocks, std::numeric_limits<std::uint32_t>::max());
  }
  if (blocks <= superblock.blocks) return superblock.blocks;
  const std::uint64_t last_group = (blocks - superblock.first_block) % superblock.blocks_per_group;
  const bool is_new = blocks - last_group >= superblock.blocks;
  if (is_new && last_group < superblock.metadata_blocks + kMinDataBlocks) blocks -= last_group;
  return std::max(blocks, superblock.blocks);
}

}  // namespace holdfast::fs
