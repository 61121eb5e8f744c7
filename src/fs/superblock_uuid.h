// SPDX-License-Identifier: Apache-2.0
// Who a filesystem says it is, by one read: the stage of every formatted volume asks this, and
// libblkid's answer costs twenty system calls.
#pragma once

#include <string>

namespace holdfast::fs {

// True if the open device carries a superblock of `type` ("ext4", "xfs", "btrfs") with `uuid`.
// False proves nothing (another type, unreadable, "ext3"): then fs::Probe tells what is there.
[[nodiscard]] bool HasSuperblock(int device_fd, const std::string& type, const std::string& uuid);

}  // namespace holdfast::fs
