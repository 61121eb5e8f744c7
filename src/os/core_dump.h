// SPDX-License-Identifier: Apache-2.0
// Whether the memory of this process may end up on a disk.
#pragma once

#include "core/status.h"

namespace holdfast::os {

// From here on a crash writes no core, whatever limits and core_pattern say, and only processes
// with CAP_SYS_PTRACE can look into this one (PR_SET_DUMPABLE, prctl(2)): secrets of requests are
// in its memory while a call runs. Programs that it starts are not affected. INTERNAL if the kernel
// refuses.
[[nodiscard]] absl::Status ForbidCoreDumps();

}  // namespace holdfast::os
