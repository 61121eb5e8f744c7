// SPDX-License-Identifier: Apache-2.0
// Keeps the memory of this process off disks.
#pragma once

#include "core/status.h"

namespace holdfast::os {

// Afterwards a crash writes no core, regardless of limits and core_pattern, and only processes with
// CAP_SYS_PTRACE can inspect this one (PR_SET_DUMPABLE, prctl(2)): secrets of requests are in its
// memory while a call runs. Programs that it starts are not affected. INTERNAL if the kernel
// refuses.
[[nodiscard]] absl::Status ForbidCoreDumps();

}  // namespace holdfast::os
