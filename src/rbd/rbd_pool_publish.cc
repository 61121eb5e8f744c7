// SPDX-License-Identifier: Apache-2.0
// Which nodes a volume is published to, for clusters that attach (docs/adr/0019).
//
// A node joins the holders only while the volume is published to it: both are one record, so of a
// node that stages and a controller that unpublishes one is told that the other was faster.
#include "core/log.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

// How often another process may be faster with the same record before the caller is told so.
constexpr int kAttempts = 20;

}  // namespace

absl::Status RbdPool::PublishTo(const VolumeId& id, const std::string& node, AccessMode mode) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  const PublishedNode wanted{.node = node, .access_mode = mode};
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(RecordEntry entry, ReadUsable(*ceph, id));
    for (const PublishedNode& present : entry.nodes.published) {
      if (present == wanted) return absl::OkStatus();
      if (present.node == node) {
        return AlreadyExists("volume '{}' is published to node '{}' with access mode {}",
                             id.ToString(), node, ToString(present.access_mode));
      }
      if (CanShare(present, wanted)) continue;
      return FailedPrecondition("volume '{}' is published to node '{}' with access mode {}",
                                id.ToString(), present.node, ToString(present.access_mode));
    }
    VolumeNodes nodes = entry.nodes;
    nodes.published.push_back(wanted);
    const absl::Status published = RecordTable::SetNodes(*ceph, entry, nodes);
    if (!absl::IsAborted(published) || attempt == kAttempts) return published;
  }
}

// A node that was to give the volume back has done so before. One that has it still is gone, or as
// good as gone to the caller: it is fenced, and only then the answer is given.
absl::Status RbdPool::UnpublishFrom(const VolumeId& id, const std::string& node) {
  if (node.empty() || node == common_->node_id) {
    ASSIGN_OR_RETURN(const auto device, FindDevice(id.uuid));
    if (device) RETURN_IF_ERROR(Unmap(*device));  // never while it is in use here
  }
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  for (int attempt = 1;; ++attempt) {
    auto entry = Read(*ceph, id);
    if (absl::IsNotFound(entry.status())) return absl::OkStatus();
    RETURN_IF_ERROR(entry.status());
    const absl::Status withdrawn = Withdraw(*ceph, *entry, node);
    if (!absl::IsAborted(withdrawn) || attempt == kAttempts) return withdrawn;
  }
}

// First the permission, so that the node cannot come back meanwhile; then what it has.
absl::Status RbdPool::Withdraw(const CephPool& ceph, RecordEntry& entry, const std::string& node) {
  VolumeNodes nodes = entry.nodes;
  const auto concerned = [&](const auto& one) { return node.empty() || one.node == node; };
  const bool was_published = std::erase_if(nodes.published, concerned) > 0;
  if (was_published) RETURN_IF_ERROR(RecordTable::SetNodes(ceph, entry, nodes));
  for (const DeviceClaim& holder : entry.nodes.holders) {
    if (concerned(holder)) RETURN_IF_ERROR(Fence(ceph.cluster(), holder));
  }
  const bool was_held = std::erase_if(nodes.holders, concerned) > 0;
  return was_held ? RecordTable::SetNodes(ceph, entry, nodes) : absl::OkStatus();
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
