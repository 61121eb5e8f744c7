// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a file are on its filesystem, to be compared with another file there: two
// files that share a block have the same bytes in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast::os {

struct MappedExtent {
  Bytes begin = 0;
  Bytes end = 0;
  std::uint64_t place = 0;  // of the first byte; the others follow it
  bool is_known = false;    // otherwise the place says nothing
};

// A part of a file.
struct ExtentMap {
  // Ascending. What lies between reads as zeros: holes, and space without data.
  std::vector<MappedExtent> extents;
  Bytes end = 0;  // the map says nothing about what is behind it
};

// The map from `begin` to `end`, or as far as `limit` extents reach. Nothing may write to the file
// meanwhile; what the filesystem itself moves shows in a later map. UNIMPLEMENTED if the filesystem
// has no map of extents (os/extent_walk.h); INTERNAL when it cannot be read.
[[nodiscard]] absl::StatusOr<ExtentMap> MapExtents(int file_fd, Bytes begin, Bytes end,
                                                   std::size_t limit);

}  // namespace holdfast::os
