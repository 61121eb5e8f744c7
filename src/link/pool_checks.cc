// SPDX-License-Identifier: Apache-2.0
#include "link/pool_checks.h"

#include <algorithm>
#include <cctype>

#include "core/message_text.h"
#include "core/volume_id.h"

namespace holdfast::link {
namespace {

constexpr std::size_t kMaxFilesystem = 16;

void Bound(v1::Room& room) {
  room.set_available(std::clamp<Bytes>(room.available(), 0, kMaxRoom));
  room.set_maximum_volume(std::clamp<Bytes>(room.maximum_volume(), 0, kMaxRoom));
  room.set_minimum_volume(std::clamp<Bytes>(room.minimum_volume(), 0, kMaxRoom));
}

bool IsFilesystem(const std::string& text) {
  return text.size() <= kMaxFilesystem &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

}  // namespace

absl::Status CheckPools(v1::Pools& pools) {
  if (pools.pools_size() > kMaxPoolsOfNode) {
    return InvalidArgument("{} pools, {} are the most of a node", pools.pools_size(),
                           kMaxPoolsOfNode);
  }
  PoolIds seen;
  for (v1::Pool& pool : *pools.mutable_pools()) {
    RETURN_IF_ERROR(ValidatePoolName(pool.name()));
    // Empty while its disk has not been there since the node's start.
    const bool unknown = pool.id().empty() && !pool.problem().empty();
    if (!unknown && !IsUuid(pool.id())) {
      return InvalidArgument("the id of pool '{}' is not a UUID", pool.name());
    }
    if (!seen.emplace(pool.name(), pool.id()).second) {
      return InvalidArgument("pool '{}' is there twice", pool.name());
    }
    if (!IsFilesystem(pool.default_filesystem())) pool.clear_default_filesystem();
    if (!pool.problem().empty()) pool.set_problem(MessageText(pool.problem()));
    Bound(*pool.mutable_thick());
    Bound(*pool.mutable_thin());
  }
  return absl::OkStatus();
}

PoolIds IdsOf(const v1::Pools& pools) {
  PoolIds ids;
  for (const v1::Pool& pool : pools.pools()) ids.emplace(pool.name(), pool.id());
  return ids;
}

}  // namespace holdfast::link
