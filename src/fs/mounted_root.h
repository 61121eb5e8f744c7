// SPDX-License-Identifier: Apache-2.0
// The root directory of a mounted filesystem, verified to be on the expected device before an ioctl
// acts on it.
#pragma once

#include <string>

#include "os/block_device.h"
#include "os/unique_fd.h"

namespace holdfast::fs {

// Opens the directory `mount_path`. INTERNAL if the filesystem there is not on `device`: an ioctl
// would otherwise grow the filesystem below an empty mount point. NOT_FOUND if there is no such
// directory.
[[nodiscard]] absl::StatusOr<os::UniqueFd> OpenMountedRoot(const os::BlockDevice& device,
                                                           const std::string& mount_path);

}  // namespace holdfast::fs
