// SPDX-License-Identifier: Apache-2.0
// The undo files of e2fsprogs ("E2UNDO02", lib/ext2fs/undo_io.c): the blocks that e2fsck or
// resize2fs, run with -z, overwrote on a device. They are written back here and not by e2undo(8),
// which ends with 0 even when it could not write a block (e2fsprogs 1.47), and then marks the
// superblock.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "os/block_device.h"
#include "os/unique_fd.h"

namespace holdfast::fs {

// One undo file, kept open. Not thread-safe.
class UndoFile final {
 public:
  // NOT_FOUND if there is no such file; INTERNAL if it cannot be read or is not an undo file.
  [[nodiscard]] static absl::StatusOr<UndoFile> Open(const std::string& path);

  // Makes a file, durably, that restores the superblock which is on the device now. It takes the
  // place of the program's own file for a program that changes nothing but superblocks: one write
  // to the disk instead of one before each change. FAILED_PRECONDITION if there is no superblock;
  // INTERNAL when the device cannot be read or the file not be written.
  [[nodiscard]] static absl::Status SaveSuperblock(const os::BlockDevice& device,
                                                   const std::string& path);

  // True if the program did not change the device: it writes the header first.
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

  // Whether the superblock of the device is the one that the program saw when it last wrote to the
  // file. INTERNAL if the device cannot be read.
  [[nodiscard]] absl::StatusOr<bool> MatchesSuperblock(const os::BlockDevice& device) const;

  // Writes everything back and flushes the device. Nothing is written before the whole file has
  // been read and its checksums have been verified. May be killed and repeated. INTERNAL when the
  // file is damaged, belongs to another device, or a read or write fails; FAILED_PRECONDITION when
  // another program has claimed the device.
  [[nodiscard]] absl::Status Restore(const os::BlockDevice& device) const;

 private:
  static constexpr std::size_t kSuperblockSize = 1024;
  struct Piece {
    Bytes in_file = 0;
    Bytes on_device = 0;
    std::size_t size = 0;
    std::uint32_t checksum = 0;
  };

  UndoFile() = default;
  [[nodiscard]] absl::Status ReadPieces(std::uint64_t count, Bytes key_block, Bytes block_size,
                                        Bytes fs_block_size);
  [[nodiscard]] absl::StatusOr<std::string> ReadPiece(const Piece& piece) const;

  std::string path_;
  os::UniqueFd file_;
  std::vector<Piece> pieces_;
  std::array<char, kSuperblockSize> superblock_{};  // as it was at the last write to the file
};

}  // namespace holdfast::fs
