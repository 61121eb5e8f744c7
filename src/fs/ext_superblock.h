// SPDX-License-Identifier: Apache-2.0
// Reads an ext3 or ext4 superblock (libext2fs), and computes how far the filesystem can grow.
#pragma once

#include <cstdint>
#include <string>

#include "core/bytes.h"
#include "os/block_device.h"

namespace holdfast::fs {

struct ExtSuperblock {
  std::uint64_t blocks = 0;
  std::uint32_t block_size = 0;
  std::uint32_t first_block = 0;  // 1 for blocks of 1 KiB
  std::uint32_t blocks_per_group = 0;
  std::uint32_t metadata_blocks = 0;     // the most that one group needs for its own metadata
  std::uint32_t inode_table_blocks = 0;  // of one group
  std::uint32_t descriptor_size = 0;     // bytes of a group's descriptor
  std::uint32_t reserved_descriptor_blocks = 0;
  bool has_group_checksums = false;  // so new groups' inode tables need not be zeroed
  Bytes journal_to_replay = 0;       // the journal's size if it was not emptied, else 0
  bool block_numbers_64bit = false;
  bool has_checksums = false;  // of all metadata (metadata_csum)
  bool has_errors = false;     // the kernel or e2fsck recorded errors (EXT2_ERROR_FS)
};

// Whether the kernel may be changing the superblock while it is read. The block count is correct
// then, too, because the kernel changes it in the page cache, which is read here; the checksum may
// be wrong.
enum class Mounted { kNo, kYes };

// FAILED_PRECONDITION naming e2fsck when there is no usable superblock; INTERNAL when the device
// cannot be read. Never writes; starts no child.
[[nodiscard]] absl::StatusOr<ExtSuperblock> ReadExtSuperblock(const os::BlockDevice& device,
                                                              Mounted mounted);

// True when the superblock is undamaged and clean and the filesystem fills its device: no check and
// no growth is needed. One read, while ReadExtSuperblock flushes the device first (libext2fs does
// when it opens the device). False when in doubt.
[[nodiscard]] bool IsCleanAndFull(const os::BlockDevice& device);

// True when the superblock is undamaged and says that the filesystem was left clean: no journal and
// no orphans to process, and no errors. One read; false when in doubt.
[[nodiscard]] bool IsCleanExt(const os::BlockDevice& device);

// True when the superblock carries the error flag. One read; false if it cannot be read.
[[nodiscard]] bool ExtHasErrors(const os::BlockDevice& device);

// Whether WriteExtUuid is enough to give the filesystem another UUID: it was left clean, no other
// metadata depends on the UUID, and no other host may use it (MMP). One read; false if it cannot be
// read.
[[nodiscard]] bool CanWriteExtUuid(const os::BlockDevice& device);

// Gives the filesystem another UUID by a single write of its superblock, durably. A power cut may
// leave half of it, whatever the size of the device's sectors: those of a loop device are not the
// disk's. The backups of the superblock keep the old UUID, and stay valid with it; e2fsck renews
// them. FAILED_PRECONDITION unless CanWriteExtUuid, or when another program has claimed the device;
// INTERNAL when it cannot be written.
[[nodiscard]] absl::Status WriteExtUuid(const os::BlockDevice& device, const std::string& uuid);

// The block count that the filesystem can grow to on a device of `size` bytes: the whole device,
// except a new last group with hardly more space than for its own metadata, which both the kernel
// (fs/ext4/resize.c, ext4_resize_fs) and resize2fs leave out. Never less than it has.
[[nodiscard]] std::uint64_t ReachableBlocks(const ExtSuperblock& superblock, Bytes size);

}  // namespace holdfast::fs
