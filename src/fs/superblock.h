// SPDX-License-Identifier: Apache-2.0
// Reads superblocks and logs by the offsets of their fields: facts that no library reports, and
// UUIDs.
#pragma once

#include <endian.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast::fs {

using Piece = std::array<char, 4 * kKiB>;

// The piece of the device at `offset`. INTERNAL when it cannot be read.
[[nodiscard]] absl::StatusOr<Piece> ReadPiece(int device_fd, Bytes offset);

[[nodiscard]] bool IsZero(const Piece& piece);

template <typename Number>
[[nodiscard]] Number At(const Piece& piece, std::size_t offset) {
  Number number{};
  std::memcpy(&number, piece.data() + offset, sizeof(number));
  return number;
}
[[nodiscard]] inline std::uint32_t Big32(const Piece& piece, std::size_t offset) {
  return be32toh(At<std::uint32_t>(piece, offset));
}
[[nodiscard]] inline std::uint64_t Big64(const Piece& piece, std::size_t offset) {
  return be64toh(At<std::uint64_t>(piece, offset));
}
[[nodiscard]] inline std::uint64_t Little64(const Piece& piece, std::size_t offset) {
  return le64toh(At<std::uint64_t>(piece, offset));
}

// True if the open device carries a superblock of `type` ("ext4", "xfs", "btrfs") with `uuid`, by
// one read: every stage of a formatted volume asks this, and libblkid needs twenty system calls.
// False proves nothing (another type, unreadable, "ext3"): then fs::Probe says what is there.
[[nodiscard]] bool HasSuperblock(int device_fd, const std::string& type, const std::string& uuid);

}  // namespace holdfast::fs
