// SPDX-License-Identifier: Apache-2.0
#include "core/lost_pool.h"

#include <algorithm>

#include "core/volume_id.h"

namespace holdfast {

std::string LostPool::ToString() const { return fmt::format("{}/{}={}", node, pool, id); }

absl::StatusOr<LostPool> ParseLostPool(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::size_t equals = text.find('=');
  if (slash == text.npos || equals == text.npos || equals < slash) {
    return InvalidArgument(
        "'{}' must be NODE/POOL=ID, with the pool's id as holdfast pools shows it", text);
  }
  LostPool lost{.node = std::string(text.substr(0, slash)),
                .pool = std::string(text.substr(slash + 1, equals - slash - 1)),
                .id = std::string(text.substr(equals + 1))};
  RETURN_IF_ERROR(ValidateNodeId(lost.node));
  RETURN_IF_ERROR(ValidatePoolName(lost.pool));
  if (!IsUuid(lost.id)) {
    return InvalidArgument("'{}' of '{}' must be the id of a pool, which is a UUID", lost.id, text);
  }
  return lost;
}

absl::StatusOr<std::vector<LostPool>> ParseLostPools(const std::vector<std::string>& texts) {
  std::vector<LostPool> pools;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(LostPool lost, ParseLostPool(text));
    const auto same = std::ranges::find_if(pools, [&](const LostPool& other) {
      return other.node == lost.node && other.pool == lost.pool;
    });
    if (same == pools.end()) {
      pools.push_back(std::move(lost));
    } else if (same->id != lost.id) {
      return InvalidArgument("pool '{}' of node '{}' is declared with two ids, '{}' and '{}'",
                             lost.pool, lost.node, same->id, lost.id);
    }
  }
  return pools;
}

}  // namespace holdfast
