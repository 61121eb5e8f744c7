// SPDX-License-Identifier: Apache-2.0
// Facts about a block device of any kind.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/bytes.h"
#include "os/unique_fd.h"

namespace holdfast::os {

struct BlockDevice {
  std::string path;  // "/dev/loop3"
  dev_t number = 0;  // its identity: a device can have several names
  Bytes size = 0;
  bool read_only = false;
};

// Reads the facts of the device node at `path` (BLKGETSIZE64, BLKROGET).
// NOT_FOUND if there is no such node, INTERNAL if it is not a block device or cannot be read.
[[nodiscard]] absl::StatusOr<BlockDevice> InspectBlockDevice(const std::string& path);

// The same for a node that is already open; `path` is its name.
[[nodiscard]] absl::StatusOr<BlockDevice> InspectBlockDevice(int node_fd, const std::string& path);

// Opens the device's node with `flags` of open(2) and checks that the name still refers to it. The
// kernel drops its cache of a device when the last opener closes it, so a caller that reads a
// device several times keeps it open. NOT_FOUND if there is no such node, FAILED_PRECONDITION if
// O_EXCL was asked for and another program has claimed it, INTERNAL if the name stands for another
// device now.
[[nodiscard]] absl::StatusOr<UniqueFd> OpenBlockDevice(const BlockDevice& device, int flags);

// True when the first and the last MiB (the whole of a smaller device) read as zeros: no boot
// sector, superblock, GPT backup or RAID/LUKS tail can be there. INTERNAL when any byte cannot be
// read.
[[nodiscard]] absl::StatusOr<bool> HeadAndTailAreZero(const BlockDevice& device);

// Sets or clears the device's read-only flag (BLKROSET): the only thing that makes the raw block
// device itself refuse writes, because a read-only bind mount does not apply to device nodes.
[[nodiscard]] absl::Status SetReadOnly(const BlockDevice& device, bool read_only);

// Zeroes every byte of the device, durably; by freeing the space where the device supports that.
[[nodiscard]] absl::Status ZeroBlockDevice(const BlockDevice& device);
// The same of a part of it, in whole sectors.
[[nodiscard]] absl::Status ZeroBlockDevice(const BlockDevice& device, Bytes begin, Bytes size);

// Flushes what the kernel buffers for the device (fsync of its node).
[[nodiscard]] absl::Status FlushBlockDevice(const BlockDevice& device);

}  // namespace holdfast::os
