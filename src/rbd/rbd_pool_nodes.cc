// SPDX-License-Identifier: Apache-2.0
// Which nodes may have a volume: joining those that have it, giving it back, fencing those that are
// gone (docs/adr/0018).
//
// Every change is one operation that holds only if the nodes are still those that were judged, and
// is judged again if they are not: readers of one volume come many at once.
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "core/call_deadline.h"
#include "core/log.h"
#include "os/device_use.h"
#include "pool/volume_evidence.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

// A machine that was suspended may come back with writes under way long after it was fenced, so the
// fence is to stay. Addresses are never used again, so a fence that stays does no harm.
constexpr std::chrono::hours kFenceTime{24 * 365};
// A process that grows or deletes an image has it open for a moment.
constexpr std::chrono::seconds kOpenerPatience{5};
constexpr std::chrono::milliseconds kOpenerInterval{100};
// How often another process may be faster with the same record before the call fails.
constexpr int kAttempts = 20;

}  // namespace

absl::Status RequireImage(const std::optional<ImageFacts>& facts,
                          const pool::VolumeRecord& record) {
  const std::string& name = record.image_name;
  if (!facts) {
    return FailedPrecondition(
        "image '{}' is missing from the Ceph pool; it was removed outside Holdfast", name);
  }
  if (facts->id != record.image_id) {
    return FailedPrecondition("image '{}' has id {}, the volume's has {}: it was replaced", name,
                              facts->id, record.image_id);
  }
  return pool::RequireSize(facts->size, record);
}

DeviceClaim RbdPool::ClaimFor(AccessMode mode) const {
  return {.node = common_->node_id,
          .client_address = "",
          .sharing = SharingOf(mode),
          .read_only = IsReaderOnly(mode),
          .boot_id = common_->boot_id};
}

// Stores the nodes that `decide` makes of the entry's; it is asked again when another process was
// faster, and may say that there is nothing to change.
absl::Status RbdPool::UpdateNodes(const CephPool& ceph, const VolumeId& id, RecordEntry& entry,
                                  const DecideNodes& decide) const {
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(const auto nodes, decide(entry));
    if (!nodes) return absl::OkStatus();
    const absl::Status stored = RecordTable::SetNodes(ceph, entry, *nodes);
    if (!absl::IsAborted(stored) || attempt == kAttempts) return stored;
    ASSIGN_OR_RETURN(entry, Read(ceph, id));
  }
}

// FAILED_PRECONDITION naming the node.
absl::Status RbdPool::InUse(const std::string& uuid, const DeviceClaim& holder) const {
  const std::string how = holder.sharing == Sharing::kAlone ? "" : " with a multi-node access mode";
  const bool namesake = common_->has_devices && holder.node == common_->node_id && !IsOwn(holder);
  const std::string which =
      namesake ? ", in another boot: before a reboot, or on another machine of that name" : "";
  const std::string remedy = holder.read_only && !holder.client_address.empty()
                                 ? "; Ceph cannot show whether a reader is alive: if that node is "
                                   "gone permanently, fence its client: ceph "
                                   "osd blocklist add " +
                                       holder.client_address
                                 : "";
  return FailedPrecondition(
      "volume {} is in use on node '{}'{}{} (client {}){}", uuid, holder.node, which, how,
      holder.client_address.empty() ? "unknown" : holder.client_address, remedy);
}

absl::Status Fence(Cluster& cluster, const DeviceClaim& holder) {
  std::string address = holder.client_address;
  if (address.empty()) return absl::OkStatus();
  LogWarning("fencing client {} of node '{}': its volume is taken over or deleted", address,
             holder.node);
  return cluster
      .Try(fmt::format("fence client {}", address),
           [&] {
             return cluster.library().rados_blocklist_add(
                 cluster.handle(), address.data(),
                 static_cast<std::uint32_t>(std::chrono::seconds(kFenceTime).count()));
           })
      .status;
}

// Whether a holder that has no watch is known to be gone. Only writers are watched.
absl::StatusOr<bool> IsGone(Cluster& cluster, const DeviceClaim& holder) {
  if (!holder.read_only || holder.client_address.empty()) return true;
  return IsFenced(cluster, holder.client_address);
}

// For a volume about to be deleted, which is not a tombstone yet.
absl::Status RbdPool::RequireUnusedAnywhere(const CephPool& ceph, const RecordEntry& entry) {
  const std::string& uuid = entry.record.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, FindDevice(uuid));
  if (device) RETURN_IF_ERROR(os::RequireUnused(device->block));
  if (common_->attach && !entry.nodes.published.empty()) {
    return FailedPrecondition("volume {} is published to node '{}'", uuid,
                              entry.nodes.published.front().node);
  }
  ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, entry.record.image_name));
  std::vector<std::string> watchers = facts ? facts->watchers : std::vector<std::string>();
  if (device) std::erase(watchers, device->client_address);
  for (const DeviceClaim& holder : entry.nodes.holders) {
    if (std::erase(watchers, holder.client_address) > 0) return InUse(uuid, holder);
    if (IsOwn(holder)) continue;  // its device, if any, is unused
    ASSIGN_OR_RETURN(const bool gone, IsGone(ceph.cluster(), holder));
    if (!gone) return InUse(uuid, holder);
  }
  if (watchers.empty()) return absl::OkStatus();
  return FailedPrecondition("volume {} is in use: clients {} have its image open", uuid,
                            fmt::join(watchers, ", "));
}

// The nodes that stay when `wanted` joins, once no other client has the image open: those with whom
// it can share. Others are an error as long as they live, and are fenced when they are gone.
absl::StatusOr<VolumeNodes> RbdPool::Admit(const CephPool& ceph, RecordEntry& entry,
                                           const VolumeId& id, const DeviceClaim& wanted) {
  const auto deadline = std::chrono::steady_clock::now() + WithinCallDeadline(kOpenerPatience);
  while (true) {
    RETURN_IF_ERROR(RequirePublished(entry, wanted));  // as the entry says now
    ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, entry.record.image_name));
    RETURN_IF_ERROR(RequireImage(facts, entry.record));
    RETURN_IF_ERROR(RequireRbdFeatures(facts->features));
    std::vector<std::string> unknown_clients = facts->watchers;
    VolumeNodes staying = entry.nodes;
    staying.holders.clear();
    VolumeNodes leaving;
    for (const DeviceClaim& holder : entry.nodes.holders) {
      const bool watches = std::erase(unknown_clients, holder.client_address) > 0;
      if (holder.node != wanted.node && CanShare(holder, wanted)) {
        staying.holders.push_back(holder);
        continue;
      }
      // This node's own client is gone with its device.
      if (!IsOwn(holder)) {
        ASSIGN_OR_RETURN(const bool gone, IsGone(ceph.cluster(), holder));
        if (watches || !gone) return InUse(id.uuid, holder);
      }
      leaving.holders.push_back(holder);
    }
    if (unknown_clients.empty()) {
      for (const DeviceClaim& holder : leaving.holders) {
        if (!holder.read_only) RETURN_IF_ERROR(Fence(ceph.cluster(), holder));
      }
      return staying;
    }
    if (std::chrono::steady_clock::now() > deadline) {
      const auto announced = std::ranges::find_if(leaving.holders, [&](const DeviceClaim& holder) {
        return holder.client_address.empty() && !IsOwn(holder);
      });
      if (announced != leaving.holders.end()) return InUse(id.uuid, *announced);
      return FailedPrecondition(
          "image '{}' is open in clients {}, which no node of Holdfast is recorded to "
          "have; one that is gone, as after a reboot, is forgotten in half a minute: try again",
          entry.record.image_name, fmt::join(unknown_clients, ", "));
    }
    std::this_thread::sleep_for(kOpenerInterval);
    ASSIGN_OR_RETURN(entry, ReadUsable(ceph, id));  // a stranger may have become a node by now
  }
}

// Says in the list of nodes that this node is about to map the image. Nothing is mapped yet.
absl::Status RbdPool::Announce(const CephPool& ceph, RecordEntry& entry, const VolumeId& id,
                               const DeviceClaim& wanted) {
  return UpdateNodes(
      ceph, id, entry, [&](RecordEntry& present) -> absl::StatusOr<std::optional<VolumeNodes>> {
        RETURN_IF_ERROR(RequireUsable(present, id));
        ASSIGN_OR_RETURN(const VolumeNodes staying, Admit(ceph, present, id, wanted));
        if (present.nodes.Find(common_->node_id) == nullptr)
          RETURN_IF_ERROR(common_->undo_files.Forget(id));
        return staying.With(wanted);
      });
}

// Adds the address of the mapped device's client to what was announced. ABORTED if another node has
// removed that in between.
absl::Status RbdPool::Claim(const CephPool& ceph, RecordEntry& entry, const VolumeId& id,
                            const DeviceClaim& announced, const std::string& client_address) {
  DeviceClaim claim = announced;
  claim.client_address = client_address;
  return UpdateNodes(
      ceph, id, entry, [&](RecordEntry& present) -> absl::StatusOr<std::optional<VolumeNodes>> {
        RETURN_IF_ERROR(RequireUsable(present, id));
        const DeviceClaim* const own = present.nodes.Find(common_->node_id);
        if (own != nullptr && *own == announced) return present.nodes.With(claim);
        return Aborted("another node was faster with volume {}; try again", id.ToString());
      });
}

// Before a claim of this node's name and another boot is given back: that its client is gone. Then
// it is fenced, because it may be another machine's that is only cut off. UNAVAILABLE while it has
// a watch: that which a reboot has left ends by itself.
absl::Status RbdPool::EndClient(const CephPool& ceph, const RecordEntry& entry,
                                const DeviceClaim& holder) const {
  ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, entry.record.image_name));
  const std::vector<std::string> watchers = facts ? facts->watchers : std::vector<std::string>();
  const bool is_open = holder.client_address.empty()
                           ? !watchers.empty()
                           : std::ranges::count(watchers, holder.client_address) != 0;
  if (!is_open) return Fence(ceph.cluster(), holder);
  return WithCode(InUse(entry.record.volume.id.uuid, holder), absl::StatusCode::kUnavailable);
}

// Takes this node out of the list of nodes. It stays there while something has to be taken back
// here (UndoFiles::Forget), because it shows whether another node had the volume in between.
absl::Status RbdPool::Release(const VolumeId& id) {
  if (common_->undo_files.Has(id)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  auto entry = Read(*ceph, id);
  if (absl::IsNotFound(entry.status())) return absl::OkStatus();
  RETURN_IF_ERROR(entry.status());
  const absl::Status released = UpdateNodes(
      *ceph, id, *entry, [&](RecordEntry& present) -> absl::StatusOr<std::optional<VolumeNodes>> {
        const DeviceClaim* const own = present.nodes.Find(common_->node_id);
        if (own == nullptr) return std::nullopt;
        if (!IsOwn(*own)) RETURN_IF_ERROR(EndClient(*ceph, present, *own));
        return present.nodes.Without(common_->node_id);
      });
  return absl::IsNotFound(released) ? absl::OkStatus() : released;
}

}  // namespace holdfast::rbd
