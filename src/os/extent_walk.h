// SPDX-License-Identifier: Apache-2.0
// The kernel's map of a file's extents (FIEMAP, Documentation/filesystems/fiemap.rst).
#pragma once

#include <linux/fiemap.h>

#include <functional>

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast::os {

struct ExtentWalk {
  Bytes begin = 0;
  Bytes end = 0;  // 0: of the file
  // Writes out what the page cache has of the file first: until then its extents are not those of
  // its bytes.
  bool flush = false;
  std::size_t limit = 0;  // extents at most; 0: all
};

// Calls `take` with each extent, in ascending order, until it returns false. The first may begin
// before `begin`, the last end behind `end`. UNIMPLEMENTED if the filesystem has no such map;
// INTERNAL when it cannot be read.
[[nodiscard]] absl::Status WalkExtents(int file_fd, const ExtentWalk& walk,
                                       const std::function<bool(const fiemap_extent&)>& take);

}  // namespace holdfast::os
