// SPDX-License-Identifier: Apache-2.0
// Checks the permissions that a node needs before it can give a pod a volume.
#pragma once

#include "core/status.h"

namespace holdfast::os {

// FAILED_PRECONDITION, with the remedy, unless this process may mount (CAP_SYS_ADMIN).
[[nodiscard]] absl::Status RequireMountRights();

// FAILED_PRECONDITION, with the remedy, unless it can open /dev/loop-control, which loads the loop
// driver where that is a module.
[[nodiscard]] absl::Status RequireLoopDriver();

}  // namespace holdfast::os
