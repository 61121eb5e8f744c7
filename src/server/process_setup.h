// SPDX-License-Identifier: Apache-2.0
// What the process is, before it serves.
#pragma once

#include "core/status.h"

namespace holdfast::server {

// Gives up privileges and core dumps, and sets signals, the log of gRPC, memory and umask. Before
// any other thread exists. Errors as of os::KeepNeededCapabilities and os::ForbidCoreDumps.
[[nodiscard]] absl::Status SetUpProcess();

}  // namespace holdfast::server
