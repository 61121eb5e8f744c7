// SPDX-License-Identifier: Apache-2.0
#include "link/pool_checks.h"

#include <algorithm>
#include <cctype>

#include "core/message_text.h"
#include "core/volume_id.h"

namespace holdfast::link {
namespace {

constexpr std::size_t kMaxFilesystem = 16;

Bytes Bounded(Bytes size) { return std::clamp<Bytes>(size, 0, kMaxRoom); }

void Bound(csi::v1::GetCapacityResponse& room) {
  room.set_available_capacity(Bounded(room.available_capacity()));
  for (auto* const size :
       {room.mutable_maximum_volume_size(), room.mutable_minimum_volume_size()}) {
    size->set_value(Bounded(size->value()));
  }
}

bool IsFilesystem(const std::string& text) {
  return text.size() <= kMaxFilesystem &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

absl::Status CheckUndecided(const v1::Pools& pools) {
  const bool sound = pools.undecided_size() <= kMaxUndecidedOfNode &&
                     std::ranges::all_of(pools.undecided(), [](const v1::Undecided& undecided) {
                       return IsGroupId(undecided.group()) && ParseSnapshotId(undecided.member()) &&
                              ParseSnapshotId(undecided.decides());
                     });
  if (sound) return absl::OkStatus();
  return InvalidArgument("undecided snapshots that cannot be");
}

}  // namespace

absl::Status CheckPools(v1::Pools& pools) {
  if (pools.pools_size() > kMaxPoolsOfNode) {
    return InvalidArgument("{} pools; a node can have at most {}", pools.pools_size(),
                           kMaxPoolsOfNode);
  }
  RETURN_IF_ERROR(CheckUndecided(pools));
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
