// SPDX-License-Identifier: Apache-2.0
// Pools whose storage is gone for good, as an operator declares them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace holdfast {

struct LostPool {
  std::string node;
  std::string pool;
  // Of the storage (PoolInfo::id): the same node may have a new disk under the pool's name.
  std::string id;

  // "node/pool=id", as it is declared.
  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const LostPool&, const LostPool&) = default;
};

// INVALID_ARGUMENT if it is not NODE/POOL=ID with a node, a pool's name and a UUID.
[[nodiscard]] absl::StatusOr<LostPool> ParseLostPool(std::string_view text);

// INVALID_ARGUMENT also if a pool of a node is declared with two ids.
[[nodiscard]] absl::StatusOr<std::vector<LostPool>> ParseLostPools(
    const std::vector<std::string>& texts);

}  // namespace holdfast
