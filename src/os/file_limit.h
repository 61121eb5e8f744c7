// SPDX-License-Identifier: Apache-2.0
// How many files and connections the process may have open.
#pragma once

#include "core/status.h"

namespace holdfast::os {

// Raises the soft limit to the hard one, the most that needs no privilege, and returns it.
[[nodiscard]] absl::StatusOr<int> RaiseFileLimit();

}  // namespace holdfast::os
