// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_inventory.h"

#include <algorithm>

#include "cli/connection.h"
#include "proto/admin.grpc.pb.h"

namespace holdfast::cli {
namespace {

using admin::v1::Admin;

void AddUnreachable(const std::string& node, const std::string& pool, const std::string& problem,
                    Inventory& inventory) {
  const bool known = std::ranges::any_of(inventory.unreachable, [&](const auto& missing) {
    return missing.node() == node && (missing.pool().empty() || missing.pool() == pool);
  });
  if (known) return;
  admin::v1::Unreachable& missing = inventory.unreachable.emplace_back();
  missing.set_node(node);
  missing.set_pool(pool);
  missing.set_problem(problem);
}

template <typename Response>
void AddUnreachableOf(const Response& list, Inventory& inventory) {
  for (const admin::v1::Unreachable& missing : list.unreachable()) {
    AddUnreachable(missing.node(), missing.pool(), missing.problem(), inventory);
  }
}

}  // namespace

std::optional<std::string> Inventory::WhyUnknown(const VolumeId& id) const {
  const auto missing = std::ranges::find_if(unreachable, [&](const auto& one) {
    return one.node() == id.node && (one.pool().empty() || one.pool() == id.pool);
  });
  if (missing != unreachable.end()) return missing->problem();
  if (const auto declared = lost.find(id.node); declared != lost.end()) return declared->second;
  if (!id.node.empty() && !connected.contains(id.node)) {
    return fmt::format("node '{}' is not connected, and was not since the controller's start",
                       id.node);
  }
  const bool has_pool = std::ranges::any_of(pools.pools(), [&](const admin::v1::Pool& pool) {
    return pool.node() == id.node && pool.name() == id.pool;
  });
  if (has_pool) return std::nullopt;
  if (id.node.empty()) return fmt::format("pool '{}' is not configured", id.pool);
  return fmt::format("node '{}' has no pool '{}' now", id.node, id.pool);
}

absl::StatusOr<Inventory> TakeInventory(const std::shared_ptr<grpc::Channel>& channel) {
  const auto identity = csi::v1::Identity::NewStub(channel);
  const auto stub = Admin::NewStub(channel);
  const admin::v1::ListRequest all;
  Inventory inventory;
  ASSIGN_OR_RETURN(const auto plugin, Call(*identity, &csi::v1::Identity::Stub::GetPluginInfo,
                                           csi::v1::GetPluginInfoRequest()));
  inventory.driver = plugin.name();
  // A node that connects after this has not been asked for its volumes; the first list waits until
  // a controller's nodes are back after its start.
  ASSIGN_OR_RETURN(inventory.pools, CallForParts(*stub, &Admin::Stub::ListPools, all));
  ASSIGN_OR_RETURN(const auto nodes, CallForParts(*stub, &Admin::Stub::ListNodes, all));
  ASSIGN_OR_RETURN(inventory.leftovers, CallForParts(*stub, &Admin::Stub::ListLeftovers, all));
  ASSIGN_OR_RETURN(inventory.trash, CallForParts(*stub, &Admin::Stub::ListTrash, all));
  ASSIGN_OR_RETURN(inventory.snapshots, CallForParts(*stub, &Admin::Stub::ListSnapshots, all));
  ASSIGN_OR_RETURN(inventory.volumes, CallForParts(*stub, &Admin::Stub::ListVolumes, all));
  AddUnreachableOf(inventory.volumes, inventory);
  AddUnreachableOf(inventory.snapshots, inventory);
  AddUnreachableOf(inventory.pools, inventory);
  AddUnreachableOf(inventory.leftovers, inventory);
  AddUnreachableOf(inventory.trash, inventory);
  // A file pool whose disk is gone still lists what it last knew.
  for (const admin::v1::Pool& pool : inventory.pools.pools()) {
    if (!pool.problem().empty()) {
      AddUnreachable(pool.node(), pool.name(), pool.problem(), inventory);
    }
  }
  for (const admin::v1::Node& node : nodes.nodes()) {
    if (node.state() == "lost") inventory.lost.emplace(node.name(), node.problem());
    if (node.state() == "connected") inventory.connected.insert(node.name());
    if (node.state() != "local") continue;
    inventory.connected.insert(node.name());
    inventory.node = node.name();
    inventory.looked_for_leftovers = inventory.leftovers.rounds() > 0;
  }
  return inventory;
}

absl::StatusOr<csi::v1::Volume> CalledOwners::GetVolume(const std::string& id) {
  csi::v1::ControllerGetVolumeRequest request;
  request.set_volume_id(id);
  ASSIGN_OR_RETURN(const auto found,
                   Call(*stub_, &csi::v1::Controller::Stub::ControllerGetVolume, request));
  return found.volume();
}

absl::Status CalledOwners::GetSnapshot(const std::string& id) {
  csi::v1::GetSnapshotRequest request;
  request.set_snapshot_id(id);
  return Call(*stub_, &csi::v1::Controller::Stub::GetSnapshot, request).status();
}

absl::Status CalledOwners::DeleteVolume(const std::string& id) {
  csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(id);
  return Call(*stub_, &csi::v1::Controller::Stub::DeleteVolume, request).status();
}

}  // namespace holdfast::cli
