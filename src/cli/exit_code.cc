// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

#include <iostream>

namespace holdfast::cli {

int ExitCode(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << "holdfast: " << MessageOf(status) << "\n";
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
}

}  // namespace holdfast::cli
