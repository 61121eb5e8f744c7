// SPDX-License-Identifier: Apache-2.0
// What `holdfast doctor` examines in a running instance.
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"

namespace holdfast::cli {

// The server that answers on a CSI socket: OK when the socket is free, or a Holdfast answers there
// and is healthy; missing what it says it lacks (Probe), or when something other than a CSI driver
// uses the path.
[[nodiscard]] Finding CheckEndpoint(const std::string& endpoint);

// What the instance found half done and could not finish: a warning for each, one "ok" if there is
// none. Nothing if no instance answers at `endpoint`, which CheckEndpoint reports.
[[nodiscard]] std::vector<Finding> CheckLeftovers(const std::string& endpoint);

}  // namespace holdfast::cli
