// SPDX-License-Identifier: Apache-2.0
#include "fs/btrfs_chunks.h"

#include <endian.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

namespace holdfast::fs {
namespace {

// The largest that the kernel makes (BTRFS_MAX_DATA_CHUNK_SIZE, fs/btrfs/volumes.h): the chunk that
// contains an address begins no further before it.
constexpr Bytes kLargestChunk = 10 * kGiB;

// The items of the chunk tree whose offset, the logical address, is at least `begin`.
absl::StatusOr<btrfs_ioctl_search_args> SearchChunks(int root_fd, std::uint64_t begin) {
  constexpr auto kAny = std::numeric_limits<std::uint64_t>::max();
  btrfs_ioctl_search_args search{};
  search.key.tree_id = BTRFS_CHUNK_TREE_OBJECTID;
  search.key.min_objectid = BTRFS_FIRST_CHUNK_TREE_OBJECTID;
  search.key.max_objectid = BTRFS_FIRST_CHUNK_TREE_OBJECTID;
  search.key.min_type = BTRFS_CHUNK_ITEM_KEY;
  search.key.max_type = BTRFS_CHUNK_ITEM_KEY;
  search.key.min_offset = begin;
  search.key.max_offset = kAny;
  search.key.max_transid = kAny;
  search.key.nr_items = std::numeric_limits<std::uint32_t>::max();
  if (::ioctl(root_fd, BTRFS_IOC_TREE_SEARCH, &search) == 0) return search;
  return OsError(errno, "cannot read the chunk tree of the btrfs");
}

}  // namespace

absl::StatusOr<std::optional<AddressRange>> NextBtrfsChunk(int root_fd, Bytes from) {
  auto begin = static_cast<std::uint64_t>(std::max<Bytes>(0, from - kLargestChunk));
  while (true) {
    ASSIGN_OR_RETURN(const btrfs_ioctl_search_args found, SearchChunks(root_fd, begin));
    if (found.key.nr_items == 0) return std::nullopt;
    std::size_t at = 0;
    for (std::uint32_t item = 0; item < found.key.nr_items; ++item) {
      btrfs_ioctl_search_header header{};
      std::memcpy(&header, found.buf + at, sizeof(header));
      btrfs_chunk chunk{};
      std::memcpy(&chunk, found.buf + at + sizeof(header), sizeof(chunk));
      at += sizeof(header) + header.len;
      const auto start = static_cast<Bytes>(header.offset);
      const auto end = start + static_cast<Bytes>(le64toh(chunk.length));
      if (end > from) return AddressRange{start, end};
      begin = header.offset + 1;
    }
  }
}

}  // namespace holdfast::fs
