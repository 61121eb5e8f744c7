// SPDX-License-Identifier: Apache-2.0
// The health of all mounted volumes at once, for lists of volumes.
#pragma once

#include <map>
#include <string>

#include "core/status.h"
#include "os/device_owner.h"

namespace holdfast::fs {

// The problem of each mounted volume's filesystem in this name space, by the volume's UUID:
// os::ProblemOf or errors that it has recorded. Volumes without a problem are left out. Costs one
// read of the mount table, one inspection of each mount of a volume, and one read of each volume
// with ext. INTERNAL if the mount table cannot be read.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> FindProblems(
    const os::DeviceOwners& devices);

// The problem of a filesystem for which Filesystem::HasRecordedErrors is true.
[[nodiscard]] std::string RecordedErrors();

}  // namespace holdfast::fs
