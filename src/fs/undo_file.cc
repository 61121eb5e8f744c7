// SPDX-License-Identifier: Apache-2.0
#include "fs/undo_file.h"

extern "C" {
#include <ext2fs/ext2fs.h>
}

#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/status.h"
#include "fs/undo_path.h"

namespace holdfast::fs {
namespace {

// The file is divided into blocks. The first holds the header, another one a copy of the superblock
// with its magic number inverted. From `key_block` on, each block of keys is followed by the pieces
// that its keys describe, in the same order, and by the next block of keys. All numbers are
// little-endian.
constexpr std::string_view kUndoMagic = "E2UNDO02";
struct Header {
  char magic[8];
  std::uint64_t pieces;
  std::uint64_t superblock;  // the block of its copy
  std::uint64_t key_block;   // the first one
  std::uint32_t block_size;
  std::uint32_t fs_block_size;
  std::uint32_t superblock_checksum;
  std::uint32_t state;
  std::uint32_t compatible, incompatible, read_only_compatible, padding;
  std::uint64_t fs_offset;
  char unused[436];
  std::uint32_t checksum;
};
static_assert(sizeof(Header) == 512);
struct Key {
  std::uint64_t fs_block;
  std::uint32_t checksum;
  std::uint32_t size;
};
static_assert(sizeof(Key) == 16);
constexpr std::uint32_t kKeyMagic = 0xCADECADE;  // the first word of a block of keys
constexpr Bytes kSmallestBlock = kKiB;
struct KeyBlock {  // of a file with the smallest blocks
  std::uint32_t magic;
  std::uint32_t checksum;  // of the block, while this field is 0
  std::uint64_t reserved;
  Key first;
  char others[kSmallestBlock - 32];
};
static_assert(sizeof(KeyBlock) == kSmallestBlock);
constexpr Bytes kLargestUndoBlock = kMiB;
constexpr std::size_t kLargestPiece = 512;  // blocks
constexpr Bytes kSuperblockOffset = 1024;

// `size` bytes at `offset`; fewer at the end of the file.
absl::StatusOr<std::string> ReadAt(int fd, Bytes offset, std::size_t size,
                                   const std::string& path) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count =
        ::pread(fd, bytes.data() + done, size - done, offset + static_cast<Bytes>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return OsError(errno, fmt::format("cannot read '{}'", path));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

absl::Status WriteAt(int fd, Bytes offset, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return OsError(count < 0 ? errno : EIO, fmt::format("cannot write back to '{}'", path));
    }
    offset += count;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return absl::OkStatus();
}

std::uint32_t Checksum(std::string_view bytes) {
  return ext2fs_crc32c_le(~0U, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

absl::Status Damaged(const std::string& path, std::string_view what) {
  return Internal("the undo file '{}' is damaged: {}", path, what);
}

// The block size of the filesystem from the copy of its superblock: the header has 1024 while the
// superblock itself is being written.
Bytes BlockSizeOf(const std::array<char, 1024>& superblock) {
  ext2_super_block fields;
  static_assert(sizeof(fields) == sizeof(superblock));
  std::memcpy(&fields, superblock.data(), sizeof(fields));
  constexpr std::uint32_t kLargestLogBlockSize = 6;  // 64 KiB
  const std::uint32_t log_size = le32toh(fields.s_log_block_size);
  if (le16toh(fields.s_magic) != EXT2_SUPER_MAGIC || log_size > kLargestLogBlockSize) return 0;
  return kSmallestBlock << log_size;
}

// The magic number of the copy is inverted, so that nothing takes it for a superblock.
void InvertMagic(std::array<char, 1024>& superblock) {
  constexpr std::size_t kExtMagicOffset = offsetof(ext2_super_block, s_magic);
  for (const std::size_t i : {kExtMagicOffset, kExtMagicOffset + 1}) {
    superblock[i] = static_cast<char>(~superblock[i]);
  }
}

struct OneChange {
  std::array<char, 1024> superblock;  // before the change
  Bytes fs_block = 0;                 // where the piece begins
  Bytes fs_block_size = 0;
  std::string piece;
};

template <typename Fields>
std::string_view BytesOf(const Fields& fields) {
  return {reinterpret_cast<const char*>(&fields), sizeof(fields)};
}

std::string Padded(std::string bytes) {
  bytes.resize(static_cast<std::size_t>(AlignUp(static_cast<Bytes>(bytes.size()), kSmallestBlock)));
  return bytes;
}

// A whole undo file of one piece: header, superblock, keys, piece.
absl::Status WriteWhole(const std::string& path, OneChange change) {
  Header header{};
  std::ranges::copy(kUndoMagic, header.magic);
  header.pieces = htole64(1);
  header.superblock = htole64(1);
  header.key_block = htole64(2);
  header.block_size = htole32(kSmallestBlock);
  header.fs_block_size = htole32(static_cast<std::uint32_t>(change.fs_block_size));
  header.superblock_checksum =
      htole32(Checksum(std::string_view(change.superblock.data(), change.superblock.size())));
  header.checksum = htole32(Checksum(BytesOf(header).substr(0, offsetof(Header, checksum))));
  const Key key{.fs_block = htole64(static_cast<std::uint64_t>(change.fs_block)),
                .checksum = htole32(Checksum(change.piece)),
                .size = htole32(static_cast<std::uint32_t>(change.piece.size()))};
  KeyBlock keys{};
  keys.magic = htole32(kKeyMagic);
  keys.first = key;
  keys.checksum = htole32(Checksum(BytesOf(keys)));
  InvertMagic(change.superblock);
  const std::string content = Padded(std::string(BytesOf(header))) +
                              std::string(change.superblock.data(), change.superblock.size()) +
                              std::string(BytesOf(keys)) + Padded(std::move(change.piece));
  return WriteAtUndoPath(path, content);
}

}  // namespace

absl::Status UndoFile::SaveSuperblock(const os::BlockDevice& device, const std::string& path) {
  ASSIGN_OR_RETURN(const os::UniqueFd node, os::OpenBlockDevice(device, O_RDONLY));
  std::array<char, kSuperblockSize> superblock{};
  ASSIGN_OR_RETURN(std::string bytes,
                   ReadAt(node.get(), kSuperblockOffset, kSuperblockSize, device.path));
  if (bytes.size() < kSuperblockSize) {
    return FailedPrecondition("{} is too small for an ext superblock", device.path);
  }
  std::ranges::copy(bytes, superblock.begin());
  const Bytes fs_block_size = BlockSizeOf(superblock);
  if (fs_block_size == 0) return FailedPrecondition("{} holds no ext superblock", device.path);
  // Keys count from the start of a block of the filesystem.
  const Bytes start = AlignDown(kSuperblockOffset, fs_block_size);
  ASSIGN_OR_RETURN(
      const std::string piece,
      ReadAt(node.get(), start,
             static_cast<std::size_t>(kSuperblockOffset - start) + kSuperblockSize, device.path));
  return WriteWhole(path, OneChange{.superblock = superblock,
                                    .fs_block = start / fs_block_size,
                                    .fs_block_size = fs_block_size,
                                    .piece = piece});
}

absl::StatusOr<UndoFile> UndoFile::Open(const std::string& path) {
  UndoFile undo;
  undo.path_ = path;
  undo.file_ = os::UniqueFd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!undo.file_.valid()) {
    if (errno == ENOENT) return NotFound("there is no undo file '{}'", path);
    return OsError(errno, fmt::format("cannot open undo file '{}'", path));
  }
  Header header;
  ASSIGN_OR_RETURN(const std::string head, ReadAt(undo.file_.get(), 0, sizeof(header), path));
  // Killed before the header was written: nothing or zeros are in its place.
  if (head.size() < sizeof(header) || head.find_first_not_of('\0') == std::string::npos) {
    return undo;
  }
  std::memcpy(&header, head.data(), sizeof(header));
  if (std::string_view(header.magic, sizeof(header.magic)) != kUndoMagic ||
      Checksum(std::string_view(head).substr(0, offsetof(Header, checksum))) !=
          le32toh(header.checksum)) {
    return Damaged(path, "its header is none");
  }
  if (header.pieces == 0) return undo;  // the program changed nothing
  const Bytes block_size = le32toh(header.block_size);
  if (block_size < kSmallestBlock || block_size > kLargestUndoBlock || header.incompatible != 0 ||
      header.read_only_compatible != 0 || header.fs_offset != 0) {
    return Damaged(path, "its header has a value that Holdfast does not know");
  }
  ASSIGN_OR_RETURN(
      const std::string copy,
      ReadAt(undo.file_.get(), static_cast<Bytes>(le64toh(header.superblock)) * block_size,
             kSuperblockSize, path));
  if (copy.size() < kSuperblockSize) return undo;  // killed before the first change, as above
  std::ranges::copy(copy, undo.superblock_.begin());
  InvertMagic(undo.superblock_);
  const Bytes fs_block_size = BlockSizeOf(undo.superblock_);
  if (fs_block_size == 0) {
    if (copy.find_first_not_of('\0') == std::string::npos) return undo;
    return Damaged(path, "it has no superblock");
  }
  RETURN_IF_ERROR(undo.ReadPieces(le64toh(header.pieces),
                                  static_cast<Bytes>(le64toh(header.key_block)), block_size,
                                  fs_block_size));
  return undo;
}

absl::Status UndoFile::ReadPieces(std::uint64_t count, Bytes key_block, Bytes block_size,
                                  Bytes fs_block_size) {
  struct stat facts {};
  if (::fstat(file_.get(), &facts) != 0) return OsError(errno, fmt::format("stat '{}'", path_));
  const Bytes blocks = facts.st_size / block_size + 1;
  if (count > static_cast<std::uint64_t>(blocks)) return Damaged(path_, "it has too many keys");
  const std::size_t keys_per_block = static_cast<std::size_t>(block_size) / sizeof(Key) - 1;
  Bytes block = key_block;
  while (pieces_.size() < count) {
    if (block < 0 || block >= blocks) return Damaged(path_, "its keys lead out of it");
    ASSIGN_OR_RETURN(const std::string keys, ReadAt(file_.get(), block * block_size,
                                                    static_cast<std::size_t>(block_size), path_));
    std::uint32_t magic = 0;
    if (keys.size() < static_cast<std::size_t>(block_size))
      return Damaged(path_, "it is cut short");
    std::memcpy(&magic, keys.data(), sizeof(magic));
    if (le32toh(magic) != kKeyMagic) return Damaged(path_, "keys are missing");
    ++block;
    // The checksum of the block of keys may be out of date after a power cut; each piece has its
    // own.
    for (std::size_t i = 1; i <= keys_per_block && pieces_.size() < count; ++i) {
      Key key;
      std::memcpy(&key, keys.data() + i * sizeof(Key), sizeof(key));
      const std::size_t size = le32toh(key.size);
      const std::uint64_t fs_block = le64toh(key.fs_block);
      if (size == 0 || size > kLargestPiece * static_cast<std::size_t>(block_size) ||
          fs_block >
              static_cast<std::uint64_t>(std::numeric_limits<Bytes>::max() / 2 / fs_block_size)) {
        return Damaged(path_, "a key makes no sense");
      }
      pieces_.push_back(Piece{.in_file = block * block_size,
                              .on_device = static_cast<Bytes>(fs_block) * fs_block_size,
                              .size = size,
                              .checksum = le32toh(key.checksum)});
      block += AlignUp(static_cast<Bytes>(size), block_size) / block_size;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> UndoFile::ReadPiece(const Piece& piece) const {
  ASSIGN_OR_RETURN(std::string bytes, ReadAt(file_.get(), piece.in_file, piece.size, path_));
  if (bytes.size() < piece.size) return Damaged(path_, "it is cut short");
  if (Checksum(bytes) != piece.checksum) return Damaged(path_, "a checksum is wrong");
  return bytes;
}

absl::StatusOr<bool> UndoFile::MatchesSuperblock(const os::BlockDevice& device) const {
  ASSIGN_OR_RETURN(const os::UniqueFd node, os::OpenBlockDevice(device, O_RDONLY));
  ASSIGN_OR_RETURN(const std::string now,
                   ReadAt(node.get(), kSuperblockOffset, kSuperblockSize, device.path));
  // Not by the checksum in the header: it is the same for every superblock that ends with its own
  // checksum.
  return std::ranges::equal(now, superblock_);
}

absl::Status UndoFile::Restore(const os::BlockDevice& device) const {
  for (const Piece& piece : pieces_) {
    if (piece.on_device + static_cast<Bytes>(piece.size) > device.size) {
      return Internal("the undo file '{}' tells of bytes beyond the end of {}", path_, device.path);
    }
    RETURN_IF_ERROR(ReadPiece(piece).status());
  }
  ASSIGN_OR_RETURN(const os::UniqueFd node, os::OpenBlockDevice(device, O_RDWR | O_EXCL));
  for (const Piece& piece : pieces_) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadPiece(piece));
    RETURN_IF_ERROR(WriteAt(node.get(), piece.on_device, bytes, device.path));
  }
  if (::fsync(node.get()) == 0) return absl::OkStatus();
  return OsError(errno, fmt::format("cannot flush {} after writing back", device.path));
}

}  // namespace holdfast::fs
