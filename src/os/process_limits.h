// SPDX-License-Identifier: Apache-2.0
// The limits of this process: core dumps, open files, memory.
#pragma once

#include <cstdint>

#include "core/status.h"

namespace holdfast::os {

// Keeps the memory of this process off disks: afterwards a crash writes no core, regardless of
// limits and core_pattern, and only processes with CAP_SYS_PTRACE can inspect this one
// (PR_SET_DUMPABLE, prctl(2)): secrets of requests are in its memory while a call runs. Programs
// that it starts are not affected. INTERNAL if the kernel refuses.
[[nodiscard]] absl::Status ForbidCoreDumps();

// Raises the soft limit on open files and connections to the hard limit, which needs no privilege,
// and returns it.
[[nodiscard]] absl::StatusOr<int> RaiseFileLimit();

// The memory limit in bytes: that of its control group (version 1 or 2) or the host's memory,
// whichever is less. A limit that cannot be read counts as none.
[[nodiscard]] std::uint64_t MemoryLimit();

// Frees memory that only the start of the process needed: unmaps the pages of the program and its
// libraries that hold code or constants: most of them were used only by initialisation. Pages that
// are needed again come back from the page cache, without a read. Call once, when the process is
// ready. Thread-safe.
void ReleaseStartupPages();

}  // namespace holdfast::os
