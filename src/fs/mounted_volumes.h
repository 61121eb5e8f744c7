// SPDX-License-Identifier: Apache-2.0
// The health of all mounted volumes at once, for lists of volumes.
#pragma once

#include <map>
#include <string>

#include "core/status.h"
#include "os/device_owner.h"

namespace holdfast::fs {

// What is wrong with the filesystem of each volume that is mounted in this name space, by the
// volume's UUID: os::ProblemOf or errors that it has recorded. Those that nothing is wrong with are
// left out. One read of the mount table, one look at each mount of a volume, and one read of
// each volume that has ext. INTERNAL if the mount table cannot be read.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> FindProblems(
    const os::DeviceOwners& devices);

// The problem of a filesystem for which Filesystem::HasRecordedErrors is true.
[[nodiscard]] std::string RecordedErrors();

}  // namespace holdfast::fs
