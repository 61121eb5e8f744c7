// SPDX-License-Identifier: Apache-2.0
#include "fs/superblock_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace holdfast::fs {

absl::StatusOr<Piece> ReadPiece(int device_fd, Bytes offset) {
  Piece piece{};
  const ssize_t size = ::pread(device_fd, piece.data(), piece.size(), offset);
  if (size == static_cast<ssize_t>(piece.size())) return piece;
  return OsError(size < 0 ? errno : EIO, "cannot read the filesystem's superblock or log");
}

bool IsZero(const Piece& piece) {
  return std::ranges::all_of(piece, [](char byte) { return byte == 0; });
}

}  // namespace holdfast::fs
