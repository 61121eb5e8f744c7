// SPDX-License-Identifier: Apache-2.0
#include "fs/xfs_log.h"

#include <fcntl.h>

#include <cstdint>

#include "fs/superblock.h"

namespace holdfast::fs {
namespace {

constexpr std::uint32_t kXfsMagic = 0x58465342;  // "XFSB"
constexpr std::uint64_t kLargestXfsBlock = 64 * kKiB;
constexpr int kMostBits = 31;  // of a block's number within its group

}  // namespace

absl::StatusOr<std::optional<XfsLogPlace>> FindXfsLog(int device_fd, Bytes device_size) {
  ASSIGN_OR_RETURN(const Piece superblock, ReadPiece(device_fd, 0));
  const std::uint64_t block_size = Big32(superblock, 4);
  const std::uint64_t start = Big64(superblock, 48);
  const std::uint64_t group_blocks = Big32(superblock, 84);
  const std::uint64_t blocks = Big32(superblock, 96);
  const auto bits = At<std::uint8_t>(superblock, 124);
  if (Big32(superblock, 0) != kXfsMagic || start == 0 || block_size == 0 ||
      block_size > kLargestXfsBlock || bits > kMostBits) {
    return std::nullopt;
  }
  const std::uint64_t first =
      (start >> bits) * group_blocks + (start & ((std::uint64_t{1} << bits) - 1));
  const std::uint64_t device_blocks = static_cast<std::uint64_t>(device_size) / block_size;
  if (first > device_blocks || blocks > device_blocks - first) return std::nullopt;
  return XfsLogPlace{.begin = static_cast<Bytes>(first * block_size),
                     .size = static_cast<Bytes>(blocks * block_size)};
}

absl::Status ZeroXfsLog(const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDONLY));
  ASSIGN_OR_RETURN(const auto log, FindXfsLog(fd.get(), device.size));
  if (!log) return FailedPrecondition("the xfs on {} has no log that could be found", device.path);
  return os::ZeroBlockDevice(device, log->begin, log->size);
}

}  // namespace holdfast::fs
