// SPDX-License-Identifier: Apache-2.0
#include "link/lost_pools.h"

#include <algorithm>

namespace holdfast::link {

const LostPool* LostPools::Find(const std::string& node, const std::string& pool) const {
  const auto found = std::ranges::find_if(
      declared_, [&](const LostPool& lost) { return lost.node == node && lost.pool == pool; });
  return found == declared_.end() ? nullptr : &*found;
}

bool LostPools::HasNode(const std::string& node) const {
  return std::ranges::any_of(declared_, [&](const LostPool& lost) { return lost.node == node; });
}

absl::Status LostPools::RequireNone(const std::string& node, const v1::Pools& pools) const {
  for (const v1::Pool& pool : pools.pools()) {
    const LostPool* const lost = Find(node, pool.name());
    if (lost == nullptr || lost->id != pool.id() || !pool.problem().empty()) continue;
    return FailedPrecondition(
        "node '{}' serves pool '{}' ({}), which is declared lost, and its volumes may have been "
        "deleted "
        "from the cluster: find out which (holdfast audit), then remove it from the controller's "
        "lostPools",
        node, pool.name(), pool.id());
  }
  return absl::OkStatus();
}

}  // namespace holdfast::link
