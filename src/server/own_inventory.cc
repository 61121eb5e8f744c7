// SPDX-License-Identifier: Apache-2.0
#include "server/own_inventory.h"

#include <absl/strings/numbers.h>

#include <chrono>
#include <optional>
#include <utility>

#include "core/version.h"
#include "fs/mounted_volumes.h"
#include "server/inventory_entries.h"
#include "server/list_limits.h"

namespace holdfast::server {
namespace {

// Volumes that are examined by one question, so that a slow disk is not taken for one that hangs.
constexpr std::size_t kAtOnce = 64;
// A controller waits for a part a few seconds; what would take longer to find out is left open.
constexpr std::chrono::seconds kTimeForUse{2};

using Devices = std::vector<std::optional<os::BlockDevice>>;

template <typename Response>
void AddUnreachable(const pool::PoolInfo& pool, const absl::Status& why, Response& response) {
  admin::v1::Unreachable& missing = *response.add_unreachable();
  missing.set_node(pool.node);
  missing.set_pool(pool.name);
  missing.set_problem(MessageOf(why));
}

// Those of volumes of one pool, in their order; none of a pool that does not answer.
Devices FindDevices(const pool::Questions& questions, pool::Pool& pool,
                    const std::vector<Volume>& volumes) {
  std::vector<VolumeId> ids;
  for (const Volume& volume : volumes) ids.push_back(volume.id);
  const auto found = questions.Put(pool, [ids](pool::Pool& one) -> absl::StatusOr<Devices> {
    Devices devices;
    for (const VolumeId& id : ids) devices.push_back(one.FindDevice(id).value_or(std::nullopt));
    return devices;
  });
  return found.ok() ? *found : Devices(volumes.size());
}

// Goes through what `list` says of each pool from the part's beginning on. `add` is given a few at
// a time, and `size` says how many there are.
template <typename Response, typename List, typename Add, typename Size>
void ListPart(const std::vector<pool::Pool*>& pools, const VolumeId& after, List list, Add add,
              Size size, Response& response) {
  for (pool::Pool* const pool : pools) {
    const std::string& name = pool->info().name;
    if (name < after.pool) continue;
    for (std::string last = name == after.pool ? after.uuid : "";;) {
      auto listed = (pool->*list)(last, kAtOnce);
      if (!listed.ok()) AddUnreachable(pool->info(), listed.status(), response);
      if (!listed.ok() || listed->empty()) break;
      const VolumeId id = listed->back().id;
      last = id.uuid;
      add(*pool, *std::move(listed));
      if (size() < kMostEntries && response.ByteSizeLong() < kMostBytes) continue;
      response.set_next(id.ToString());
      return;
    }
  }
}

absl::StatusOr<VolumeId> After(const Part& part) {
  if (part.after.empty()) return VolumeId{};
  const auto id = VolumeId::Parse(part.after);
  if (!id) return InvalidArgument("after: '{}' begins no part of a list", part.after);
  return *id;
}

}  // namespace

std::vector<pool::Pool*> OwnInventory::PoolsOf(const Part& part) const {
  std::vector<pool::Pool*> pools = pools_.all();
  // The controller has those that no node's are.
  if (part.for_controller) {
    std::erase_if(pools, [](const pool::Pool* pool) { return pool->info().node.empty(); });
  }
  return pools;
}

absl::Status OwnInventory::Fill(const Part& part, admin::v1::ListPoolsResponse& response) const {
  for (pool::Pool* const pool : PoolsOf(part)) {
    const auto usage =
        pools_.questions().Put(*pool, [](pool::Pool& one) { return one.GetUsage(); });
    Describe(pool->info(), usage, *response.add_pools());
  }
  return absl::OkStatus();
}

absl::Status OwnInventory::Fill(const Part& part, admin::v1::ListVolumesResponse& response) const {
  ASSIGN_OR_RETURN(const VolumeId after, After(part));
  ListPart(
      PoolsOf(part), after, &pool::Pool::List,
      [&](pool::Pool& pool, std::vector<Volume> volumes) {
        AddVolumes(pool, std::move(volumes), response);
      },
      [&] { return static_cast<std::size_t>(response.volumes_size()); }, response);
  if (response.next().empty()) AddUnfinished(part, response);
  ASSIGN_OR_RETURN(const auto problems, fs::FindProblems(pools_.devices()));
  for (admin::v1::Volume& volume : *response.mutable_volumes()) {
    const auto id = VolumeId::Parse(volume.id());
    const auto problem = id ? problems.find(id->uuid) : problems.end();
    if (problem == problems.end()) continue;
    volume.set_abnormal(true);
    volume.set_condition(problem->second);
  }
  return absl::OkStatus();
}

void OwnInventory::AddVolumes(pool::Pool& pool, std::vector<Volume> volumes,
                              admin::v1::ListVolumesResponse& response) const {
  const auto conditions = pools_.Conditions(volumes);
  const Devices devices = FindDevices(pools_.questions(), pool, volumes);
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    admin::v1::Volume& described = *response.add_volumes();
    Describe(volumes[i], volumes[i].capacity_bytes, described);
    if (conditions.ok()) DescribeCondition(conditions->at(i), described);
    if (devices[i]) DescribeUse(*devices[i], stages_.Find(described.id()), described);
  }
}

// Those that CreateVolume has not returned yet. A pool that does not answer is left out: it must
// not keep the others from being listed.
void OwnInventory::AddUnfinished(const Part& part, admin::v1::ListVolumesResponse& response) const {
  for (pool::Pool* const pool : PoolsOf(part)) {
    const auto unfinished =
        pools_.questions().Put(*pool, [](pool::Pool& one) { return one.ListUnfinished(); });
    if (!unfinished.ok()) continue;
    for (const auto& [volume, copied_to] : *unfinished) {
      Describe(volume, copied_to, *response.add_volumes());
    }
  }
}

absl::Status OwnInventory::Fill(const Part& part,
                                admin::v1::ListSnapshotsResponse& response) const {
  using Clock = std::chrono::steady_clock;
  const auto until = part.for_controller ? Clock::now() + kTimeForUse : Clock::time_point::max();
  const auto use_of = [&](pool::Pool& pool, const VolumeId& id) {
    std::optional<pool::SnapshotUse> use;
    if (Clock::now() >= until) return use;
    const auto measured =
        pools_.questions().Put(pool, [id](pool::Pool& one) { return one.GetSnapshotUse(id); });
    if (measured.ok()) use = *measured;
    return use;
  };
  ASSIGN_OR_RETURN(const VolumeId after, After(part));
  ListPart(
      PoolsOf(part), after, &pool::Pool::ListSnapshots,
      [&](pool::Pool& pool, const std::vector<Volume>& snapshots) {
        for (const Volume& snapshot : snapshots) {
          Describe(snapshot, use_of(pool, snapshot.id), *response.add_snapshots());
        }
      },
      [&] { return static_cast<std::size_t>(response.snapshots_size()); }, response);
  return absl::OkStatus();
}

absl::Status OwnInventory::Fill(const Part& part,
                                admin::v1::ListLeftoversResponse& response) const {
  response.set_rounds(static_cast<std::int64_t>(reconciler_.rounds()));
  const std::vector<Reconciler::OpenLeftover> open = reconciler_.Open();
  std::size_t next = 0;
  if (!part.after.empty() && !absl::SimpleAtoi(part.after, &next)) {
    return InvalidArgument("after: '{}' begins no part of a list", part.after);
  }
  for (; next < open.size(); ++next) {
    Describe(open[next], *response.add_leftovers());
    response.mutable_leftovers()->rbegin()->set_node(node_);
    const bool full = static_cast<std::size_t>(response.leftovers_size()) == kMostEntries ||
                      response.ByteSizeLong() > kMostBytes;
    if (full && next + 1 < open.size()) {
      response.set_next(fmt::to_string(next + 1));
      break;
    }
  }
  return absl::OkStatus();
}

// A page of `next` begins after the entry of that id.
absl::Status OwnInventory::Fill(const Part& part, admin::v1::ListTrashResponse& response) const {
  const auto after = TrashId::Parse(part.after);
  if (!part.after.empty() && !after) {
    return InvalidArgument("after: '{}' begins no part of a list", part.after);
  }
  for (pool::Pool* const pool : PoolsOf(part)) {
    if (after && pool->info().name < after->pool) continue;
    const auto listed =
        pools_.questions().Put(*pool, [](pool::Pool& one) { return one.ListTrash(); });
    if (!listed.ok()) {
      AddUnreachable(pool->info(), listed.status(), response);
      continue;
    }
    for (const pool::TrashEntry& entry : *listed) {
      if (after && entry.id.pool == after->pool && entry.id.key <= after->key) continue;
      const auto entries = static_cast<std::size_t>(response.trash_size());
      if (entries == kMostEntries || response.ByteSizeLong() > kMostBytes) {
        response.set_next(response.trash(response.trash_size() - 1).id());
        return absl::OkStatus();
      }
      Describe(entry, *response.add_trash());
    }
  }
  return absl::OkStatus();
}

absl::Status OwnInventory::Fill(const Part&, admin::v1::ListNodesResponse& response) const {
  if (node_.empty()) return absl::OkStatus();
  admin::v1::ListPoolsResponse pools;
  RETURN_IF_ERROR(Fill(Part{.for_controller = true}, pools));
  admin::v1::Node& node = *response.add_nodes();
  node.set_name(node_);
  node.set_state("local");
  node.set_version(kVersion);
  node.set_pools(pools.pools_size());
  for (const admin::v1::Pool& pool : pools.pools()) {
    node.set_volumes(node.volumes() + pool.volumes());
    node.set_snapshots(node.snapshots() + pool.snapshots());
    node.set_thick_available_bytes(node.thick_available_bytes() + pool.thick_available_bytes());
    node.set_thin_available_bytes(node.thin_available_bytes() + pool.thin_available_bytes());
    if (!pool.problem().empty()) {
      node.set_problem(fmt::format("pool '{}': {}", pool.name(), pool.problem()));
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::server
