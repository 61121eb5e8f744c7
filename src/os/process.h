// SPDX-License-Identifier: Apache-2.0
// Runs one external program, bounded in time and output.
//
// The child gets: a fixed environment (PATH, LC_ALL=C), /dev/null as standard input, no inherited
// descriptors, default signals, and a process group of its own that is killed as a whole when the
// deadline passes. posix_spawn is used because it does not copy the address space and runs no
// atfork handlers, so it is safe in a process full of gRPC threads.
//
// Whatever else the program has started is killed with its group when it has ended (after 200 ms if
// it still holds the output), so nothing goes on writing behind the caller's back. The one thing
// that can outlast the deadline is a child that hangs in the kernel and cannot be killed: it is
// waited for.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/status.h"

namespace holdfast::os {

struct CommandResult {
  int exit_code = -1;   // 0..255; -1 when a signal ended the child
  int signal = 0;       // the signal that ended the child, or 0
  std::string output;   // standard output and error as they came, the last 64 KiB
};

// Runs argv[0] (a bare name is looked up in /usr/sbin, /usr/bin, /sbin, /bin) and waits for it.
// FAILED_PRECONDITION when the program is not there (names the program), INTERNAL when it cannot be
// started or when `deadline` passed and the group was killed. A non-zero exit is OK: read the
// result. Thread-safe; waits on a pidfd, so it never reaps another's child.
[[nodiscard]] absl::StatusOr<CommandResult> RunCommand(const std::vector<std::string>& argv,
                                                       std::chrono::milliseconds deadline);

// RunCommand, and a non-zero exit or a signal is INTERNAL with the program and the end of its
// output.
[[nodiscard]] absl::Status RunCommandOrFail(const std::vector<std::string>& argv,
                                            std::chrono::milliseconds deadline);

// The absolute path of a program in the directories above. NOT_FOUND otherwise.
[[nodiscard]] absl::StatusOr<std::string> FindProgram(const std::string& name);

}  // namespace holdfast::os
