// SPDX-License-Identifier: Apache-2.0
// Runs the programs that format, check and resize, only a few at the same time: each may use a
// whole core and much of the disk's bandwidth, and a burst of new volumes must not overload the
// host. Thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "os/block_device.h"
#include "os/process.h"

namespace holdfast::fs {

// Runs a mkfs program on `device` (appended to `argv`) for at most ten minutes and flushes the
// device. INTERNAL with the end of the program's output if it fails; FAILED_PRECONDITION if it is
// not installed; UNAVAILABLE if no permit became free within a minute.
[[nodiscard]] absl::Status RunMkfs(std::vector<std::string> argv, const os::BlockDevice& device);

constexpr std::chrono::minutes kMaintenanceDeadline{60};

// Runs a checking or resizing program of e2fsprogs for at most `deadline`. A non-zero exit is OK:
// read the result. INTERNAL when it was killed at the deadline. The other codes are RunMkfs's.
[[nodiscard]] absl::StatusOr<os::CommandResult> RunMaintenance(
    const std::vector<std::string>& argv,
    std::chrono::milliseconds deadline = kMaintenanceDeadline);

// For errors: how a program ended, and the end of its output without a trailing usage text.
[[nodiscard]] std::string DescribeEnd(const os::CommandResult& result);

}  // namespace holdfast::fs
