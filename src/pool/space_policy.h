// SPDX-License-Identifier: Apache-2.0
// How much of the storage behind a pool may be provisioned to volumes, for kinds of pools that keep
// a ledger. docs/parameters.md explains each setting.
#pragma once

#include <array>

#include "core/bytes.h"
#include "core/pool_config.h"
#include "core/status.h"

namespace holdfast::pool {

struct SpacePolicy {
  Bytes reserve_bytes = 0;         // kept for the host: this many bytes, or ...
  double reserve_fraction = 0.05;  // ... this part of the storage, whichever is larger
  bool reserve_given = false;      // the pool's keys say so, rather than the default
  double overcommit = 1.0;         // thin bytes provisioned per byte of room; 1: all can be kept
  double watermark = 0.9;          // no more thin space while more than this part is in use
};

inline constexpr std::array kSpaceKeys{PoolKey{"reserve"}, PoolKey{"overcommit"},
                                       PoolKey{"watermark"}};

// The policy that a pool's keys state; other keys are ignored. INVALID_ARGUMENT naming the key.
[[nodiscard]] absl::StatusOr<SpacePolicy> ParseSpacePolicy(const PoolKeys& keys);

}  // namespace holdfast::pool
