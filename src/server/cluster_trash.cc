// SPDX-License-Identifier: Apache-2.0
#include "server/cluster_trash.h"

#include <utility>
#include <vector>

#include "controller/node_calls.h"
#include "core/volume.h"
#include "rpc/topology.h"
#include "server/node_entries.h"
#include "server/trash_commands.h"

namespace holdfast::server {
namespace {

admin::v1::TrashRequest RequestOf(const TrashId& id) {
  admin::v1::TrashRequest request;
  request.set_id(id.ToString());
  return request;
}

}  // namespace

absl::Status ClusterTrash::Restore(const TrashId& id, link::Deadline deadline,
                                   admin::v1::RestoreTrashResponse& response) const {
  ASSIGN_OR_RETURN(const std::string bytes,
                   controller::NodeCalls(hub_).AskFor(id.node, controller::Codes::kOfCreation,
                                                      kRestoreTrash, RequestOf(id), deadline));
  admin::v1::RestoreTrashResponse answered;
  RETURN_IF_ERROR(controller::ParseAnswer(id.node, bytes, answered));
  const auto nodes = hub_.Nodes(std::vector<std::string>{id.node});
  if (nodes.empty()) return Unavailable("node '{}' has just left; try again", id.node);
  const absl::Status sound = TakeFrom(nodes.front(), *answered.mutable_entry());
  if (!sound.ok()) return controller::Refuse(id.node, MessageOf(sound));
  if (answered.entry().id() != id.ToString()) {
    return controller::Refuse(id.node, "it speaks of another entry of the trash");
  }
  *response.mutable_entry() = std::move(*answered.mutable_entry());
  response.set_driver(driver_name_);
  const csi::v1::Topology reach = rpc::NodeTopology(driver_name_, id.node);
  for (const auto& [key, value] : reach.segments()) {
    response.set_topology_key(key);
    response.set_topology_value(value);
  }
  const bool is_snapshot = response.entry().kind() == ToString(VolumeRole::kSnapshot);
  auto& names = is_snapshot ? hub_.snapshot_names() : hub_.names();
  names.Created(id.place(), response.entry().name());
  return absl::OkStatus();
}

absl::Status ClusterTrash::Purge(const TrashId& id, link::Deadline deadline) const {
  return controller::NodeCalls(hub_)
      .AskFor(id.node, controller::Codes::kOfVolume, kPurgeTrash, RequestOf(id), deadline)
      .status();
}

}  // namespace holdfast::server
