// SPDX-License-Identifier: Apache-2.0
// Finds out which server answers on a CSI socket.
#pragma once

#include <string>

#include "core/finding.h"

namespace holdfast::cli {

// OK when the socket is free, or a Holdfast answers there and is healthy; missing what it says it
// lacks (Probe), or when something other than a CSI driver uses the path.
[[nodiscard]] Finding CheckEndpoint(const std::string& endpoint);

}  // namespace holdfast::cli
