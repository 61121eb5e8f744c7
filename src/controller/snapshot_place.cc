// SPDX-License-Identifier: Apache-2.0
#include "controller/snapshot_place.h"

#include <utility>
#include <vector>

#include "controller/placement.h"

namespace holdfast::controller {

absl::StatusOr<VolumeId> IdOfSnapshot(link::Hub& hub, const VolumeId& source,
                                      const std::string& name, link::Deadline deadline) {
  if (!hub.WaitFor(source.node, deadline)) {
    return Unavailable("node '{}' is not connected", source.node);
  }
  const std::vector<link::NodeView> views = hub.Nodes({source.node});
  if (views.empty()) return Unavailable("node '{}' is not connected", source.node);
  const link::v1::Pool* const pool = PoolNamed(views.front(), source.pool);
  if (pool == nullptr) return NotFound("node '{}' has no pool '{}'", source.node, source.pool);
  ASSIGN_OR_RETURN(const std::string space, SnapshotNameSpace(pool->id()));
  ASSIGN_OR_RETURN(std::string uuid, UuidOfName(space, name));
  return VolumeId{.pool = source.pool, .node = source.node, .uuid = std::move(uuid)};
}

}  // namespace holdfast::controller
