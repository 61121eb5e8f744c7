// SPDX-License-Identifier: Apache-2.0
// Mounted volumes: the root directory of one, and the health of all at once.
#pragma once

#include <map>
#include <string>

#include "core/status.h"
#include "os/block_device.h"
#include "os/device_owner.h"
#include "os/unique_fd.h"

namespace holdfast::fs {

// Opens the directory `mount_path`. INTERNAL if the filesystem there is not on `device`: an ioctl
// would otherwise grow the filesystem below an empty mount point. NOT_FOUND if there is no such
// directory.
[[nodiscard]] absl::StatusOr<os::UniqueFd> OpenMountedRoot(const os::BlockDevice& device,
                                                           const std::string& mount_path);

// The problem of each mounted volume's filesystem in this name space, by the volume's UUID:
// os::ProblemOf or errors that it has recorded. Volumes without a problem are left out. Costs one
// read of the mount table, one inspection of each mount of a volume, and one read of each volume
// with ext. INTERNAL if the mount table cannot be read.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> FindProblems(
    const os::DeviceOwners& devices);

// The problem of a filesystem for which Filesystem::HasRecordedErrors is true.
[[nodiscard]] std::string RecordedErrors();

}  // namespace holdfast::fs
