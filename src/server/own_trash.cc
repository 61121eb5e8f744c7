// SPDX-License-Identifier: Apache-2.0
#include "server/own_trash.h"

#include <algorithm>

#include "rpc/topology.h"
#include "server/inventory_entries.h"

namespace holdfast::server {
namespace {

absl::StatusOr<pool::TrashEntry> FindEntry(pool::Pool& pool, const TrashId& id) {
  ASSIGN_OR_RETURN(const std::vector<pool::TrashEntry> entries, pool.ListTrash());
  const auto found = std::ranges::find(entries, id, &pool::TrashEntry::id);
  if (found != entries.end()) return *found;
  return NotFound("there is no '{}' in the trash", id.ToString());
}

// One name is one volume, in whichever pool. A pool that does not answer is taken to have none, as
// by CreateVolume.
absl::Status RequireUnusedName(const pool::Pools& pools, const Volume& volume) {
  for (pool::Pool* const pool : pools.all()) {
    if (pool->info().name == volume.id.pool) continue;
    const absl::Status found =
        pools.questions().Put(*pool, [role = volume.role, name = volume.name](pool::Pool& other) {
          return role == VolumeRole::kVolume
                     ? other.Get(other.IdForName(name)).status()
                     : other.GetSnapshot(other.IdForSnapshotName(name)).status();
        });
    if (!found.ok()) continue;
    return AlreadyExists("a {} named '{}' exists in pool '{}'; delete it first",
                         ToString(volume.role), volume.name, pool->info().name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrashId> EntryIn(const admin::v1::TrashRequest& request) {
  auto id = TrashId::Parse(request.id());
  if (id) return *std::move(id);
  return InvalidArgument(
      "id: '{}' is not the id of an entry of the trash; holdfast trash list "
      "shows them",
      request.id());
}

absl::Status OwnTrash::Restore(const TrashId& id, admin::v1::RestoreTrashResponse& response) const {
  const std::string place = id.place().ToString();
  ASSIGN_OR_RETURN(const auto located, pools_.Locate(place));
  ASSIGN_OR_RETURN(const auto lock, volume_locks_.TryLock(place, "RestoreTrash"));
  ASSIGN_OR_RETURN(const pool::TrashEntry entry, FindEntry(*located.pool, id));
  RETURN_IF_ERROR(RequireUnusedName(pools_, entry.volume));
  RETURN_IF_ERROR(located.pool->RestoreTrash(id).status());
  Describe(entry, *response.mutable_entry());
  response.set_driver(driver_name_);
  const csi::v1::Topology reach = rpc::AccessibleTopology(located.pool->info(), driver_name_);
  for (const auto& [key, value] : reach.segments()) {
    response.set_topology_key(key);
    response.set_topology_value(value);
  }
  return absl::OkStatus();
}

absl::Status OwnTrash::Purge(const TrashId& id) const {
  ASSIGN_OR_RETURN(const auto located, pools_.Locate(id.place().ToString()));
  return located.pool->PurgeTrash(id);
}

}  // namespace holdfast::server
