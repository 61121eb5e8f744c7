// SPDX-License-Identifier: Apache-2.0
// Runs the programs that format, check and resize, only a few at the same time: each may use a
// whole core and much of the disk, and a burst of new volumes must not take the machine.
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "os/block_device.h"
#include "os/process.h"

namespace holdfast::fs {

// Runs a mkfs program on `device` (appended to `argv`) for at most ten minutes and flushes the
// device. INTERNAL with the end of the program's output if it fails; FAILED_PRECONDITION if it is
// not installed; UNAVAILABLE if no place became free within a minute.
[[nodiscard]] absl::Status RunMkfs(std::vector<std::string> argv, const os::BlockDevice& device);

// Runs a checking or resizing program for at most an hour. A non-zero exit is OK: read the result.
// The other codes are RunMkfs's.
[[nodiscard]] absl::StatusOr<os::CommandResult> RunMaintenance(
    const std::vector<std::string>& argv);

// How a program ended and the end of what it said, without a trailing usage text: for errors.
[[nodiscard]] std::string DescribeEnd(const os::CommandResult& result);

}  // namespace holdfast::fs
