// SPDX-License-Identifier: Apache-2.0
// `holdfast serve`: everything put together.
#pragma once

#include "core/config.h"

namespace holdfast::server {

// Serves until SIGTERM or SIGINT, then lets running calls finish (25 s at most) and returns OK.
// Identity answers from the start; the other services answer UNAVAILABLE until the pools are
// recovered: counted; what is half done is ended afterwards. Call from main before any other thread
// exists. INVALID_ARGUMENT: the configuration; FAILED_PRECONDITION: another instance, or a pool's
// directory; the process has then changed nothing.
[[nodiscard]] absl::Status Serve(const Config& config);

}  // namespace holdfast::server
