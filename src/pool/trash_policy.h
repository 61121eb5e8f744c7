// SPDX-License-Identifier: Apache-2.0
// Whether and how long a pool keeps what is deleted, for kinds of pools that can. docs/trash.md
// explains each setting.
#pragma once

#include <array>
#include <chrono>

#include "core/pool_config.h"
#include "core/retention.h"
#include "core/status.h"

namespace holdfast::pool {

struct TrashPolicy {
  std::chrono::seconds keep{0};  // where the class says nothing; 0: delete at once
  bool reclaim = false;          // purge the oldest early for what would not fit otherwise
};

inline constexpr std::array kTrashKeys{PoolKey{kKeepDeleted}, PoolKey{"trash"}};

// The policy that a pool's keys state; other keys are ignored. INVALID_ARGUMENT naming the key.
[[nodiscard]] absl::StatusOr<TrashPolicy> ParseTrashPolicy(const PoolKeys& keys);

}  // namespace holdfast::pool
