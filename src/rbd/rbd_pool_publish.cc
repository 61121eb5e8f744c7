// SPDX-License-Identifier: Apache-2.0
// Which nodes a volume is published to, for clusters that attach (docs/adr/0019).
//
// A node joins the holders only while the volume is published to it: both are one record, so of a
// node that stages and a controller that unpublishes one gets the answer that the other was faster.
#include "core/log.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

using ChangedNodes = absl::StatusOr<std::optional<VolumeNodes>>;

// Whether `one` is of the node that gives the volume back; "" stands for all nodes.
bool IsOf(const auto& one, const std::string& node) { return node.empty() || one.node == node; }

ChangedNodes WithoutPublished(VolumeNodes nodes, const std::string& node) {
  if (std::erase_if(nodes.published, [&](const auto& one) { return IsOf(one, node); }) == 0) {
    return std::nullopt;
  }
  return nodes;
}

ChangedNodes FenceAndRemove(const CephPool& ceph, VolumeNodes nodes, const std::string& node) {
  for (const DeviceClaim& holder : nodes.holders) {
    if (IsOf(holder, node)) RETURN_IF_ERROR(Fence(ceph.cluster(), holder));
  }
  if (std::erase_if(nodes.holders, [&](const auto& one) { return IsOf(one, node); }) == 0) {
    return std::nullopt;
  }
  return nodes;
}

}  // namespace

absl::Status RbdPool::PublishTo(const VolumeId& id, const std::string& node, AccessMode mode) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  const PublishedNode wanted{.node = node, .access_mode = mode};
  ASSIGN_OR_RETURN(RecordEntry entry, Read(*ceph, id));
  return UpdateNodes(
      *ceph, id, entry, [&](RecordEntry& stored) -> absl::StatusOr<std::optional<VolumeNodes>> {
        RETURN_IF_ERROR(RequireUsable(stored, id));
        for (const PublishedNode& present : stored.nodes.published) {
          if (present == wanted) return std::nullopt;
          if (present.node == node) {
            return AlreadyExists("volume '{}' is published to node '{}' with access mode {}",
                                 id.ToString(), node, ToString(present.access_mode));
          }
          if (CanShare(present, wanted)) continue;
          return FailedPrecondition("volume '{}' is published to node '{}' with access mode {}",
                                    id.ToString(), present.node, ToString(present.access_mode));
        }
        VolumeNodes nodes = stored.nodes;
        nodes.published.push_back(wanted);
        return nodes;
      });
}

// A node that was to give the volume back has done so before. One that has it still is gone, or as
// good as gone to the caller: it is fenced, and only then the answer is given.
absl::Status RbdPool::UnpublishFrom(const VolumeId& id, const std::string& node) {
  if (node.empty() || node == common_->node_id) {
    ASSIGN_OR_RETURN(const auto device, FindDevice(id.uuid));
    if (device) RETURN_IF_ERROR(Unmap(*device));  // never while it is in use here
  }
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  auto entry = Read(*ceph, id);
  if (absl::IsNotFound(entry.status())) return absl::OkStatus();
  RETURN_IF_ERROR(entry.status());
  // First the permission, so that the node cannot come back in between; then what it has.
  absl::Status withdrawn = UpdateNodes(
      *ceph, id, *entry, [&](RecordEntry& stored) { return WithoutPublished(stored.nodes, node); });
  if (withdrawn.ok()) {
    withdrawn = UpdateNodes(*ceph, id, *entry, [&](RecordEntry& stored) {
      return FenceAndRemove(*ceph, stored.nodes, node);
    });
  }
  return absl::IsNotFound(withdrawn) ? absl::OkStatus() : withdrawn;
}

absl::Status RbdPool::RequirePublished(const RecordEntry& entry, const DeviceClaim& wanted) const {
  if (!common_->attach) return absl::OkStatus();
  const std::string& uuid = entry.record.volume.id.uuid;
  const PublishedNode* const published = entry.nodes.FindPublished(common_->node_id);
  if (published == nullptr) {
    return FailedPrecondition(
        "volume {} is not published to node '{}': ControllerPublishVolume comes first", uuid,
        common_->node_id);
  }
  const AccessMode mode = published->access_mode;
  if (SharingOf(mode) == wanted.sharing && IsReaderOnly(mode) == wanted.read_only) {
    return absl::OkStatus();
  }
  return FailedPrecondition("volume {} is published to node '{}' with access mode {}, not this one",
                            uuid, common_->node_id, ToString(mode));
}

}  // namespace holdfast::rbd
