// SPDX-License-Identifier: Apache-2.0
// Seen with e2fsprogs 1.47.0, xfsprogs 6.1.0 and btrfs-progs 6.2; tests/root/fs/mkfs_traces_test.cc
// checks the installed versions.
#include "fs/mkfs_traces.h"

#include <endian.h>
#include <ext2fs/ext2_fs.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::fs {
namespace {

constexpr std::size_t kPiece = 4 * kKiB;
using Piece = std::array<char, kPiece>;

absl::StatusOr<Piece> ReadAt(int fd, Bytes offset) {
  Piece piece{};
  const ssize_t size = ::pread(fd, piece.data(), piece.size(), offset);
  if (size == static_cast<ssize_t>(piece.size())) return piece;
  return OsError(size < 0 ? errno : EIO, "read the filesystem's superblock or log");
}

template <typename Number>
Number At(const Piece& piece, std::size_t offset) {
  Number number{};
  std::memcpy(&number, piece.data() + offset, sizeof(number));
  return number;
}
std::uint32_t Big32(const Piece& piece, std::size_t offset) {
  return be32toh(At<std::uint32_t>(piece, offset));
}
std::uint64_t Big64(const Piece& piece, std::size_t offset) {
  return be64toh(At<std::uint64_t>(piece, offset));
}
std::uint64_t Little64(const Piece& piece, std::size_t offset) {
  return le64toh(At<std::uint64_t>(piece, offset));
}

bool IsZero(const Piece& piece) {
  return std::ranges::all_of(piece, [](char byte) { return byte == 0; });
}

// The kernel writes the time of a mount for writing before mount(2) returns (ext4_setup_super), and
// no program resets it: e2fsck and tune2fs change only the count.
absl::StatusOr<bool> IsExtOfMkfsAlone(int fd) {
  constexpr Bytes kSuperblock = 1024;
  ASSIGN_OR_RETURN(const Piece piece, ReadAt(fd, 0));
  const auto superblock = At<ext2_super_block>(piece, kSuperblock);
  return le16toh(superblock.s_magic) == EXT2_SUPER_MAGIC && superblock.s_mtime == 0 &&
         superblock.s_mtime_hi == 0 && superblock.s_mnt_count == 0 &&
         superblock.s_last_mounted[0] == 0;
}

// Offsets in xfs_dsb and xlog_rec_header (fs/xfs/libxfs/xfs_format.h, xfs_log_format.h). mkfs.xfs
// clears sb_inprogress last, and leaves one record in the log, the first of cycle 1, followed by
// zeros. A mount for writing stamps the log after that record (xlog_clear_stale_blocks).
absl::StatusOr<bool> IsXfsOfMkfsAlone(int fd, Bytes device_size) {
  ASSIGN_OR_RETURN(const Piece superblock, ReadAt(fd, 0));
  constexpr std::size_t kInProgress = 126;
  if (superblock[kInProgress] != 0) return true;
  const std::uint64_t block_size = Big32(superblock, 4);
  const std::uint64_t log_start = Big64(superblock, 48);
  const std::uint64_t group_blocks = Big32(superblock, 84);
  const auto block_bits = At<std::uint8_t>(superblock, 124);  // of a block number within its group
  constexpr std::uint64_t kLargestBlock = 64 * kKiB;
  if (log_start == 0 || block_size > kLargestBlock || block_bits > 31) return false;
  const std::uint64_t block = (log_start >> block_bits) * group_blocks +
                              (log_start & ((std::uint64_t{1} << block_bits) - 1));
  if (block > static_cast<std::uint64_t>(device_size) / std::max<std::uint64_t>(block_size, 1)) {
    return false;
  }
  const auto log = static_cast<Bytes>(block * block_size);
  ASSIGN_OR_RETURN(const Piece record, ReadAt(fd, log));
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
  ASSIGN_OR_RETURN(const Piece behind, ReadAt(fd, log + header + length));
  return IsZero(behind);
}

// Offsets in btrfs_super_block (include/uapi/linux/btrfs_tree.h). mkfs.btrfs commits six times
// (more with quotas), never fills the tree log and leaves the UUID tree's generation unset. Writes
// of the kernel count from its first commit, which raises the generation and sets that of the UUID
// tree, or from an fsync, which fills the tree log.
absl::StatusOr<bool> IsBtrfsOfMkfsAlone(int fd) {
  constexpr Bytes kSuperblock = 64 * kKiB;
  constexpr std::uint64_t kLastOfMkfs = 6;
  ASSIGN_OR_RETURN(const Piece superblock, ReadAt(fd, kSuperblock));
  const std::uint64_t generation = Little64(superblock, 72);
  const std::uint64_t log_root = Little64(superblock, 96);
  const std::uint64_t uuid_tree_generation = Little64(superblock, 563);
  return generation <= kLastOfMkfs && log_root == 0 && uuid_tree_generation == 0;
}

}  // namespace

absl::StatusOr<bool> IsOfMkfsAlone(const os::BlockDevice& device, const std::string& type) {
  ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDONLY));
  if (type.starts_with("ext")) return IsExtOfMkfsAlone(fd.get());
  if (type == "xfs") return IsXfsOfMkfsAlone(fd.get(), device.size);
  if (type == "btrfs") return IsBtrfsOfMkfsAlone(fd.get());
  return false;
}

}  // namespace holdfast::fs
