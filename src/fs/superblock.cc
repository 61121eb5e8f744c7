// SPDX-License-Identifier: Apache-2.0
#include "fs/superblock.h"

#include <unistd.h>
#include <uuid/uuid.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "core/bytes.h"

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

namespace {

using namespace std::string_view_literals;

struct Layout {
  std::string_view type;
  Bytes superblock;  // where it begins
  std::size_t magic_at;
  std::string_view magic;
  std::size_t uuid_at;
};

constexpr std::array kLayouts = {
    Layout{"ext4", 1024, 56, "\x53\xEF"sv, 104},
    Layout{"xfs", 0, 0, "XFSB"sv, 32},
    Layout{"btrfs", 64 * kKiB, 64, "_BHRfS_M"sv, 32},
};

using Superblock = std::array<char, 512>;

// What ext3 does not have and ext4, as we make it, always has: that alone shows the type.
bool HasExtents(const Superblock& ext) {
  constexpr std::size_t kIncompatibleFeatures = 96;
  constexpr char kExtents = 0x40;
  return (ext[kIncompatibleFeatures] & kExtents) != 0;
}

std::string UuidAt(const char* bytes) {
  std::array<char, UUID_STR_LEN> text{};
  ::uuid_unparse_lower(reinterpret_cast<const unsigned char*>(bytes), text.data());
  return text.data();
}

}  // namespace

bool HasSuperblock(int device_fd, const std::string& type, const std::string& uuid) {
  const auto* const layout = std::ranges::find(kLayouts, type, &Layout::type);
  if (layout == kLayouts.end()) return false;
  Superblock read{};
  const ssize_t size = ::pread(device_fd, read.data(), read.size(), layout->superblock);
  if (size != static_cast<ssize_t>(read.size())) return false;
  const std::string_view magic(read.data() + layout->magic_at, layout->magic.size());
  return magic == layout->magic && UuidAt(read.data() + layout->uuid_at) == uuid &&
         (type != "ext4" || HasExtents(read));
}

}  // namespace holdfast::fs
