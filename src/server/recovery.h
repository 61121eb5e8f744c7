// SPDX-License-Identifier: Apache-2.0
// What happens first after a start, and so after a crash: the volumes are counted, before any call
// about them is served. A pool that does not answer in time is counted later, and calls about it
// are refused until then. What an earlier process left half done is repaired afterwards, while
// calls are served (server/reconciler.h).
#pragma once

#include "core/status.h"
#include "pool/pools.h"

namespace holdfast::server {

// Pool::Recover of each pool; the error of the first one that fails.
[[nodiscard]] absl::Status RecoverPools(const pool::Pools& pools);

}  // namespace holdfast::server
