// SPDX-License-Identifier: Apache-2.0
// The internal log of an unmounted xfs, found by the offsets of xfs_dsb
// (fs/xfs/libxfs/xfs_format.h).
#pragma once

#include <optional>

#include "core/bytes.h"
#include "os/block_device.h"

namespace holdfast::fs {

// Of the device, in bytes.
struct XfsLogPlace {
  Bytes begin = 0;
  Bytes size = 0;
};

// Nothing if the superblock names no log within the device. INTERNAL when the superblock cannot be
// read.
[[nodiscard]] absl::StatusOr<std::optional<XfsLogPlace>> FindXfsLog(int device_fd,
                                                                    Bytes device_size);

// Overwrites the log with zeros, durably: nothing is replayed from it then. FAILED_PRECONDITION if
// the superblock is not that of an xfs, or names no log; INTERNAL when the device cannot be read or
// written.
[[nodiscard]] absl::Status ZeroXfsLog(const os::BlockDevice& device);

}  // namespace holdfast::fs
