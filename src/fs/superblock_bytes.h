// SPDX-License-Identifier: Apache-2.0
// Reads fields of superblocks and logs by their offsets, that no library reports.
#pragma once

#include <endian.h>

#include <array>
#include <cstdint>
#include <cstring>

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

}  // namespace holdfast::fs
