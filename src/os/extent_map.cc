// SPDX-License-Identifier: Apache-2.0
#include "os/extent_map.h"

#include <algorithm>

#include "os/extent_walk.h"

namespace holdfast::os {
namespace {

// Of an extent with one of these the kernel does not say where it is, or more than one range of
// bytes is in the same place.
constexpr std::uint32_t kWithoutPlace = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
                                        FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_ENCRYPTED |
                                        FIEMAP_EXTENT_NOT_ALIGNED | FIEMAP_EXTENT_DATA_INLINE |
                                        FIEMAP_EXTENT_DATA_TAIL;

}  // namespace

absl::StatusOr<ExtentMap> MapExtents(int file_fd, Bytes begin, Bytes end, std::size_t limit) {
  ExtentMap map;
  std::size_t seen = 0;
  Bytes reached = begin;
  const ExtentWalk walk{.begin = begin, .end = end, .flush = true, .limit = limit};
  RETURN_IF_ERROR(WalkExtents(file_fd, walk, [&](const fiemap_extent& extent) {
    ++seen;
    const auto first = static_cast<Bytes>(extent.fe_logical);
    reached = std::min(end, first + static_cast<Bytes>(extent.fe_length));
    const Bytes from = std::max(begin, first);
    if (from >= reached || (extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN) != 0) return true;
    map.extents.push_back({.begin = from,
                           .end = reached,
                           .place = extent.fe_physical + static_cast<std::uint64_t>(from - first),
                           .is_known = (extent.fe_flags & kWithoutPlace) == 0});
    return true;
  }));
  map.end = seen < limit ? end : reached;
  return map;
}

}  // namespace holdfast::os
