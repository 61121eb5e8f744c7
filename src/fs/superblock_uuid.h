// SPDX-License-Identifier: Apache-2.0
// The UUID of a filesystem, by one read: every stage of a formatted volume needs it, and libblkid
// needs twenty system calls for it.
#pragma once

#include <string>

namespace holdfast::fs {

// True if the open device carries a superblock of `type` ("ext4", "xfs", "btrfs") with `uuid`.
// False proves nothing (another type, unreadable, "ext3"): then fs::Probe says what is there.
[[nodiscard]] bool HasSuperblock(int device_fd, const std::string& type, const std::string& uuid);

}  // namespace holdfast::fs
