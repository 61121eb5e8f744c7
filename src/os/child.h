// SPDX-License-Identifier: Apache-2.0
// Starts one child process; os/process.h also waits for its end.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"

namespace holdfast::os {

// Starts `program` (an absolute path) with `argv`. The child gets a fixed environment (PATH,
// LC_ALL=C) and the NAME=VALUE words of `environment`, /dev/null as standard input, `output_fd` as
// standard output and error, no other descriptor, default signals, and a process group of its own.
// It starts in the directory `directory_fd`, or, without one, in this process's. It is killed when
// the calling thread ends, so a mkfs never outlives the process that knows which device it may
// format: the caller waits for the child. INTERNAL when it cannot be started. Thread-safe.
[[nodiscard]] absl::StatusOr<pid_t> StartChild(const std::string& program,
                                               const std::vector<std::string>& argv, int output_fd,
                                               const std::vector<std::string>& environment = {},
                                               int directory_fd = -1);

}  // namespace holdfast::os
