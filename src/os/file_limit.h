// SPDX-License-Identifier: Apache-2.0
// The limit on open files and connections of this process.
#pragma once

#include "core/status.h"

namespace holdfast::os {

// Raises the soft limit to the hard limit, which needs no privilege, and returns it.
[[nodiscard]] absl::StatusOr<int> RaiseFileLimit();

}  // namespace holdfast::os
