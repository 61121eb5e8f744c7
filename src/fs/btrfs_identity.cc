// SPDX-License-Identifier: Apache-2.0
#include "fs/btrfs_identity.h"

#include <ext2fs/ext2fs.h>
#include <fcntl.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "fs/superblock.h"

namespace holdfast::fs {
namespace {

// Of struct btrfs_super_block (include/uapi/linux/btrfs_tree.h).
constexpr std::size_t kChecksumEnd = 0x20;
constexpr std::size_t kFsid = 0x20;
constexpr std::size_t kOwnOffset = 0x30;
constexpr std::size_t kMagicOffset = 0x40;
constexpr std::string_view kMagicText = "_BHRfS_M";
constexpr std::size_t kLogRoot = 0x60;
constexpr std::size_t kIncompatibleFeatures = 0xbc;
constexpr std::size_t kChecksumType = 0xc4;
constexpr std::size_t kMetadataUuid = 0x23b;
constexpr std::uint64_t kHasMetadataUuid = std::uint64_t{1} << 10;
constexpr std::uint16_t kCrc32c = 0;
constexpr std::size_t kUuidSize = 16;

// The first one is the one that is mounted.
constexpr std::array<Bytes, 3> kSuperblocks = {64 * kKiB, 64 * kMiB, 256 * kGiB};

std::uint32_t ChecksumOf(const Piece& superblock) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(superblock.data());
  return htole32(~ext2fs_crc32c_le(~0U, bytes + kChecksumEnd,
                                   static_cast<int>(superblock.size() - kChecksumEnd)));
}

template <typename Number>
void Put(Piece& piece, std::size_t offset, Number number) {
  std::memcpy(piece.data() + offset, &number, sizeof(number));
}

bool HasMetadataUuid(const Piece& superblock) {
  return (Little64(superblock, kIncompatibleFeatures) & kHasMetadataUuid) != 0;
}

absl::Status RequireKnown(const Piece& superblock, const os::BlockDevice& device) {
  const std::string_view magic(superblock.data() + kMagicOffset, kMagicText.size());
  if (magic != kMagicText) return FailedPrecondition("there is no btrfs on {}", device.path);
  if (le16toh(At<std::uint16_t>(superblock, kChecksumType)) != kCrc32c) {
    return FailedPrecondition(
        "the btrfs on {} has a log to replay, and checksums other than crc32c, so its UUID cannot "
        "be changed; make the copy again while nothing writes to its source",
        device.path);
  }
  if (At<std::uint32_t>(superblock, 0) == ChecksumOf(superblock)) return absl::OkStatus();
  return FailedPrecondition("the superblock of the btrfs on {} is damaged; see btrfs rescue",
                            device.path);
}

absl::Status WriteSuperblock(int fd, Piece superblock, Bytes offset) {
  Put(superblock, kOwnOffset, htole64(static_cast<std::uint64_t>(offset)));
  Put(superblock, 0, ChecksumOf(superblock));
  const ssize_t written = ::pwrite(fd, superblock.data(), superblock.size(), offset);
  if (written == static_cast<ssize_t>(superblock.size()) && ::fsync(fd) == 0) {
    return absl::OkStatus();
  }
  return OsError(written < 0 ? errno : EIO, "cannot write the superblock of the btrfs");
}

}  // namespace

absl::StatusOr<bool> KeepsMetadataUuid(const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDONLY));
  ASSIGN_OR_RETURN(const Piece superblock, ReadPiece(fd.get(), kSuperblocks.front()));
  return Little64(superblock, kLogRoot) != 0 || HasMetadataUuid(superblock);
}

absl::Status ChangeBtrfsSuperblock(const os::BlockDevice& device, const std::string& uuid) {
  std::array<unsigned char, kUuidSize> wanted{};
  if (::uuid_parse(uuid.c_str(), wanted.data()) != 0) return Internal("'{}' is not a UUID", uuid);
  ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDWR | O_EXCL));
  ASSIGN_OR_RETURN(Piece superblock, ReadPiece(fd.get(), kSuperblocks.front()));
  RETURN_IF_ERROR(RequireKnown(superblock, device));
  if (!HasMetadataUuid(superblock)) {
    std::memcpy(superblock.data() + kMetadataUuid, superblock.data() + kFsid, kUuidSize);
    Put(superblock, kIncompatibleFeatures,
        htole64(Little64(superblock, kIncompatibleFeatures) | kHasMetadataUuid));
  }
  std::memcpy(superblock.data() + kFsid, wanted.data(), kUuidSize);
  // The first one last: as long as it has the old UUID, the change is not done.
  for (auto offset = kSuperblocks.rbegin(); offset != kSuperblocks.rend(); ++offset) {
    if (*offset + static_cast<Bytes>(superblock.size()) > device.size) continue;
    RETURN_IF_ERROR(WriteSuperblock(fd.get(), superblock, *offset));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::fs
