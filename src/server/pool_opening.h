// SPDX-License-Identifier: Apache-2.0
// Opens the configured pools at the start.
#pragma once

#include "core/config.h"
#include "core/status.h"
#include "pool/pools.h"
#include "server/server_state.h"

namespace holdfast::server {

// Adds each configured pool to `state.pools`. A pool whose storage is absent is served as soon as
// it is there; FAILED_PRECONDITION if no pool can be served and none ever was, or if a pool is in
// use; INVALID_ARGUMENT for a filesystem that is not supported.
[[nodiscard]] absl::Status OpenPools(const Config& config, int state_directory_fd,
                                     ServerState& state);

}  // namespace holdfast::server
