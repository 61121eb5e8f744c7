// SPDX-License-Identifier: Apache-2.0
// What happens first after a start, and so after a crash: the pools are opened and their volumes
// counted, before any call about them is served. A pool that does not answer in time is counted
// later, and calls about it are refused until then. What an earlier process left half done is
// repaired afterwards, while calls are served (server/reconciler.h).
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

// Pool::Recover of each pool; the error of the first one that fails.
[[nodiscard]] absl::Status RecoverPools(const pool::Pools& pools);

}  // namespace holdfast::server
