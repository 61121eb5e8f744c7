// SPDX-License-Identifier: Apache-2.0
#include "cli/unreachable.h"

#include <fmt/format.h>

#include <iostream>
#include <string>

#include "cli/exit_code.h"
#include "cli/terminal.h"

namespace holdfast::cli {

int ReportUnreachable(
    const google::protobuf::RepeatedPtrField<admin::v1::Unreachable>& unreachable) {
  for (const admin::v1::Unreachable& missing : unreachable) {
    const std::string pool =
        missing.pool().empty() ? "" : fmt::format("pool '{}': ", missing.pool());
    const std::string node =
        missing.node().empty() ? "" : fmt::format("node '{}': ", missing.node());
    std::cerr << Printable(
                     fmt::format("holdfast: not listed: {}{}{}", node, pool, missing.problem()))
              << "\n";
  }
  return unreachable.empty() ? 0 : kExitFailure;
}

}  // namespace holdfast::cli
