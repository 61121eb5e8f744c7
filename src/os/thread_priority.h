// SPDX-License-Identifier: Apache-2.0
// The weight of a thread's work beside that of applications.
#pragma once

namespace holdfast::os {

// The calling thread gets processor and disk last, as far as the kernel's schedulers heed that
// (nice(2), ioprio_set(2)), but is never starved.
void LowerThreadPriority();

}  // namespace holdfast::os
