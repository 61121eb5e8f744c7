// SPDX-License-Identifier: Apache-2.0
#include "controller/pool_choice.h"

#include <algorithm>
#include <chrono>

#include "controller/volume_requests.h"

namespace holdfast::controller {
namespace {

// An answer takes milliseconds unless the pool hangs, and CreateVolume waits for each.
constexpr std::chrono::milliseconds kCapacityPatience{500};

bool Has(pool::Pool& pool, const std::string& name) {
  const VolumeId id = pool.IdForName(name);
  if (pool.Get(id).ok()) return true;
  const auto unfinished = pool.ListUnfinished();
  return unfinished.ok() &&
         std::ranges::any_of(
             *unfinished, [&](const pool::UnfinishedVolume& one) { return one.volume.id == id; });
}

bool HasVolume(const pool::Pools& pools, pool::Pool& pool, const std::string& name) {
  return pools.questions()
      .Put(
          pool,
          [name](pool::Pool& one) {
            return Has(one, name) ? absl::OkStatus() : NotFound("no volume '{}'", name);
          },
          kCapacityPatience)
      .ok();
}

// The largest volume that fits; -1 where that is not known.
Bytes RoomIn(const pool::Pools& pools, pool::Pool& pool, Provisioning provisioning) {
  const auto capacity = pools.questions().Put(
      pool, [provisioning](pool::Pool& one) { return one.GetCapacity(provisioning); },
      kCapacityPatience);
  return capacity.ok() ? capacity->maximum_volume_bytes : -1;
}

}  // namespace

absl::StatusOr<std::vector<pool::Pool*>> AllowedPools(const ClassParameters& parameters,
                                                      const pool::Pools& pools) {
  std::vector<pool::Pool*> allowed;
  for (const std::string& name : parameters.pools) {
    ASSIGN_OR_RETURN(pool::Pool* const pool, pools.Find(name));
    allowed.push_back(pool);
  }
  if (!allowed.empty()) return allowed;
  ASSIGN_OR_RETURN(pool::Pool* const first, pools.Find(""));
  allowed = pools.all();
  std::erase_if(allowed, [](const pool::Pool* pool) { return pool->info().node.empty(); });
  if (allowed.empty()) return std::vector<pool::Pool*>{first};
  std::ranges::stable_partition(allowed, [&](const pool::Pool* pool) { return pool == first; });
  return allowed;
}

pool::Pool& ChoosePool(const std::vector<pool::Pool*>& allowed, const pool::Pools& pools,
                       const WantedVolume& wanted) {
  if (allowed.size() == 1) return *allowed.front();
  for (pool::Pool* const pool : allowed) {
    if (HasVolume(pools, *pool, wanted.name)) return *pool;
  }
  pool::Pool* best = allowed.front();
  Bytes most = -1;
  for (pool::Pool* const pool : allowed) {
    const Bytes room = RoomIn(pools, *pool, wanted.provisioning);
    const bool is_of_source = wanted.source && IsIn(*wanted.source, pool->info());
    if (is_of_source && room >= wanted.bytes) return *pool;
    if (room <= most) continue;
    best = pool;
    most = room;
  }
  return *best;
}

}  // namespace holdfast::controller
