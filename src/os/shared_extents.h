// SPDX-License-Identifier: Apache-2.0
// Detects files that share blocks with others, after a reflink copy (xfs, btrfs) or a snapshot
// (btrfs).
#pragma once

#include <cstddef>

#include "core/status.h"

namespace holdfast::os {

// True if one of the first `limit` extents of the file is shared (FIEMAP_EXTENT_SHARED, FIEMAP in
// Documentation/filesystems/fiemap.rst). False on filesystems that share nothing or have no FIEMAP.
// Reads nothing but the map itself: about 0.1 us per extent on xfs, about 10 us on btrfs, which
// searches for each extent's other users. INTERNAL when the map cannot be read.
[[nodiscard]] absl::StatusOr<bool> SharesExtents(int file_fd, std::size_t limit);

}  // namespace holdfast::os
