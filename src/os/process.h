// SPDX-License-Identifier: Apache-2.0
// Runs one external program, bounded in time and output.
//
// The child gets a fixed environment (PATH, LC_ALL=C), /dev/null as standard input, no other
// descriptor, default signals, and a process group of its own, all of which is killed when the
// deadline passes. It is killed when the calling thread ends, too, so a mkfs never outlives the
// process that knows which device it may format.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/status.h"

namespace holdfast::os {

struct CommandResult {
  int exit_code = -1;  // 0..255; -1 when a signal ended the child
  int signal = 0;      // the signal that ended the child, or 0
  std::string output;  // standard output and error as they came, the last 64 KiB
};

// Runs argv[0] (a bare name is looked up in /usr/sbin, /usr/bin, /sbin, /bin) with the NAME=VALUE
// words of `environment` in addition to the fixed ones, and waits for it.
// FAILED_PRECONDITION when the program is not installed (names the program), INTERNAL when it
// cannot be started or when `deadline` passed and the group was killed. A non-zero exit is OK: read
// the result. Thread-safe; waits on a pidfd, so it never reaps another's child.
[[nodiscard]] absl::StatusOr<CommandResult> RunCommand(
    const std::vector<std::string>& argv, std::chrono::milliseconds deadline,
    const std::vector<std::string>& environment = {});

// RunCommand, and a non-zero exit or a signal is INTERNAL with the program and the end of its
// output.
[[nodiscard]] absl::Status RunCommandOrFail(const std::vector<std::string>& argv,
                                            std::chrono::milliseconds deadline);

// RunCommandOrFail with an open directory as the program's working directory, which the program
// names ".": it then acts on this directory, even if another filesystem has been mounted at the
// path since.
[[nodiscard]] absl::Status RunCommandIn(int directory_fd, const std::vector<std::string>& argv,
                                        std::chrono::milliseconds deadline);

// The absolute path of a program in the directories above. NOT_FOUND otherwise.
[[nodiscard]] absl::StatusOr<std::string> FindProgram(const std::string& name);

}  // namespace holdfast::os
