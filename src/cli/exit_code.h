// SPDX-License-Identifier: Apache-2.0
// The exit codes of the verbs.
#pragma once

#include "core/status.h"

namespace holdfast::cli {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;  // what was asked makes no sense: flags, configuration

// Prints the error, if it is one, on standard error and returns the exit code: 0 for OK, kExitUsage
// for INVALID_ARGUMENT, kExitFailure for the rest.
[[nodiscard]] int ExitCode(const absl::Status& status);

}  // namespace holdfast::cli
