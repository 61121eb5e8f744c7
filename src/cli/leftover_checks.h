// SPDX-License-Identifier: Apache-2.0
// What a running instance found half done and could not end.
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"

namespace holdfast::cli {

// A warning for each, one "ok" if there is none. Nothing if no instance answers at `endpoint`,
// which CheckEndpoint reports.
[[nodiscard]] std::vector<Finding> CheckLeftovers(const std::string& endpoint);

}  // namespace holdfast::cli
