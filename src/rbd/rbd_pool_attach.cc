// SPDX-License-Identifier: Apache-2.0
// Images as devices of this node, who may have them, and the steps around formatting that the
// record guards.
//
// The image is mapped first and claimed then, because only the mapping has the client's address;
// mapping writes nothing. Of two nodes that map at once one gets the claim, and the other unmaps.
// The kernel's own exclusive lock keeps the object map true; it does not keep nodes apart, since
// clients hand it over to whoever asks, and a growth needs them to (docs/adr/0017).
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "core/log.h"
#include "os/device_use.h"
#include "pool/format_state.h"
#include "rbd/ceph_key.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

// Longer than a client that comes back could have anything under way. Addresses are never used
// again, so that a fence that stays hurts nobody.
constexpr std::chrono::hours kFenceTime{24};
// A process that grows or deletes an image has it open for a moment.
constexpr std::chrono::seconds kOpenerPatience{5};
constexpr std::chrono::milliseconds kOpenerInterval{100};

absl::Status RequireImage(const std::optional<ImageFacts>& facts,
                          const pool::VolumeRecord& record) {
  const std::string name = ImageName(record.volume.id.uuid);
  if (!facts) {
    return FailedPrecondition("image '{}' is missing from the Ceph pool; somebody removed it",
                              name);
  }
  if (facts->id != record.image_id) {
    return FailedPrecondition("image '{}' has id {}, the volume's has {}: it was replaced", name,
                              facts->id, record.image_id);
  }
  if (facts->size == record.volume.capacity_bytes) return absl::OkStatus();
  return FailedPrecondition(
      "image '{}' has {} bytes, its record says {}: it was truncated or "
      "grown by hand",
      name, facts->size, record.volume.capacity_bytes);
}

absl::Status InUse(const JournalEntry& entry) {
  return FailedPrecondition("volume {} is in use on node '{}' (client {})",
                            entry.record.volume.id.uuid, entry.holder->node,
                            entry.holder->client_address);
}

// That the device shows this image of this pool of this cluster, and not only its name.
absl::Status RequireShows(const os::RbdDevice& device, const CephPool& ceph,
                          const pool::VolumeRecord& record) {
  if (device.cluster == ceph.identity().cluster && device.pool_id == ceph.identity().pool_id &&
      device.image_id == record.image_id) {
    return absl::OkStatus();
  }
  return FailedPrecondition(
      "{} is an image of that name, but another one: cluster {}, pool {}, id {}; unmap it",
      device.block.path, device.cluster, device.pool_id, device.image_id);
}

}  // namespace

absl::Status Fence(Cluster& cluster, const Holder& holder) {
  std::string address = holder.client_address;
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

absl::StatusOr<os::BlockDevice> RbdPool::Attach(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(JournalEntry entry, ReadUsable(*ceph, id));
  if (entry.record.grow_to_bytes != 0) RETURN_IF_ERROR(FinishGrowth(*ceph, entry));
  ASSIGN_OR_RETURN(Attachment attachment, FindOrMap(*ceph, entry));
  os::BlockDevice& block = attachment.device.block;
  absl::Status usable = RequireShows(attachment.device, *ceph, entry.record);
  if (usable.ok()) usable = Claim(*ceph, entry, attachment.device);
  if (!usable.ok()) {
    if (!attachment.mapped_now) return usable;
    const absl::Status unmapped = Unmap(attachment.device);
    if (!unmapped.ok()) LogWarning("after a failed attachment: {}", MessageOf(unmapped));
    return usable;
  }
  const Bytes capacity = entry.record.volume.capacity_bytes;
  if (block.size != capacity) {
    ASSIGN_OR_RETURN(block.size, os::RefreshRbdDevice(attachment.device));
  }
  if (block.size == capacity) return block;
  return Internal("{} has {} bytes, volume '{}' has {}", block.path, block.size, id.ToString(),
                  capacity);
}

absl::StatusOr<RbdPool::Attachment> RbdPool::FindOrMap(const CephPool& ceph,
                                                       const JournalEntry& entry) {
  ASSIGN_OR_RETURN(const auto present, FindDevice(entry.record.volume.id.uuid));
  const bool elsewhere = entry.holder && entry.holder->node != node_id_;
  if (present && !elsewhere) return Attachment{.device = *present, .mapped_now = false};
  // The holder's own device: two drivers share this kernel.
  if (present && present->client_address == entry.holder->client_address) return InUse(entry);
  // Left from before another node took the volume over: its client was fenced.
  if (present) RETURN_IF_ERROR(Unmap(*present));
  ASSIGN_OR_RETURN(const os::RbdDevice mapped, Map(ceph, entry));
  return Attachment{.device = mapped, .mapped_now = true};
}

absl::StatusOr<os::RbdDevice> RbdPool::Map(const CephPool& ceph, const JournalEntry& entry) {
  RETURN_IF_ERROR(RequireFree(ceph, entry));
  ASSIGN_OR_RETURN(const MonitorAddresses monitors, AskMonitorAddresses(ceph.cluster()));
  ASSIGN_OR_RETURN(const std::string key, ReadCephKey(access_.keyring, access_.user));
  return os::MapRbdImage({.image = NameOf(entry.record.volume.id.uuid),
                          .monitors = monitors.addresses,
                          .messenger_v2 = monitors.messenger_v2,
                          .user = access_.user,
                          .key = key,
                          .read_only = false});
}

// That nobody else has the image, or only a holder whose client is gone, which is fenced.
absl::Status RbdPool::RequireFree(const CephPool& ceph, const JournalEntry& entry) {
  const std::string name = ImageName(entry.record.volume.id.uuid);
  const auto deadline = std::chrono::steady_clock::now() + kOpenerPatience;
  while (true) {
    ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, name));
    RETURN_IF_ERROR(RequireImage(facts, entry.record));
    RETURN_IF_ERROR(os::RequireRbdFeatures(facts->features));
    const std::vector<std::string>& watchers = facts->watchers;
    if (entry.holder) {
      // This node's own client is gone with its device: a reboot.
      const bool gone = entry.holder->node == node_id_ ||
                        std::ranges::find(watchers, entry.holder->client_address) == watchers.end();
      if (gone) return Fence(ceph.cluster(), *entry.holder);
      return InUse(entry);
    }
    if (watchers.empty()) return absl::OkStatus();
    if (std::chrono::steady_clock::now() > deadline) {
      return FailedPrecondition("image '{}' is open in clients {}, which are no node's of Holdfast",
                                name, fmt::join(watchers, ", "));
    }
    std::this_thread::sleep_for(kOpenerInterval);
  }
}

absl::Status RbdPool::Claim(const CephPool& ceph, JournalEntry& entry,
                            const os::RbdDevice& device) {
  const Holder here{.node = node_id_, .client_address = device.client_address};
  if (entry.holder == here) return absl::OkStatus();
  return Journal::SetHolder(ceph, entry, here);
}

absl::StatusOr<std::optional<os::BlockDevice>> RbdPool::FindAttached(const VolumeId& id) {
  ASSIGN_OR_RETURN(const auto device, FindDevice(id.uuid));
  if (!device) return std::nullopt;
  return device->block;
}

// From the kernel alone: teardown must not depend on the cluster.
absl::StatusOr<std::optional<os::RbdDevice>> RbdPool::FindDevice(const std::string& uuid) {
  return os::FindRbdDevice(NameOf(uuid));
}

absl::Status RbdPool::Detach(const VolumeId& id) {
  ASSIGN_OR_RETURN(const auto device, FindDevice(id.uuid));
  if (device) RETURN_IF_ERROR(Unmap(*device));
  Release(id);
  return absl::OkStatus();
}

absl::Status RbdPool::Unmap(const os::RbdDevice& device) {
  RETURN_IF_ERROR(os::RequireUnused(device.block));
  return os::UnmapRbdDevice(device);
}

// A claim that stays does no harm: its client is gone, which the next node sees.
void RbdPool::Release(const VolumeId& id) {
  const auto ceph = Connect();
  auto entry = ceph.ok() ? Journal::Read(**ceph, id.uuid) : ceph.status();
  if (absl::IsNotFound(entry.status())) return;
  absl::Status released = entry.status();
  if (entry.ok() && entry->holder && entry->holder->node == node_id_) {
    released = Journal::SetHolder(**ceph, *entry, std::nullopt);
  }
  if (!released.ok()) {
    LogWarning("volume {} keeps its claim of this node: {}", id.ToString(), MessageOf(released));
  }
}

// That this node's device is what the journal says has the volume: a node that was fenced while it
// formatted must not decide anything.
absl::StatusOr<os::RbdDevice> RbdPool::RequireHeldHere(const JournalEntry& entry) {
  const std::string& uuid = entry.record.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, FindDevice(uuid));
  if (device && entry.holder &&
      *entry.holder == Holder{.node = node_id_, .client_address = device->client_address}) {
    return *device;
  }
  return FailedPrecondition("volume {} is not, or no longer, held by this node", uuid);
}

absl::Status RbdPool::StartFormatting(const VolumeId& id, const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(JournalEntry entry, ReadUsable(*ceph, id));
  RETURN_IF_ERROR(RequireHeldHere(entry).status());
  pool::VolumeRecord record = entry.record;
  RETURN_IF_ERROR(pool::EnterFormatting(record, filesystem_uuid));
  return Journal::Replace(*ceph, entry, record, /*as_holder=*/true);
}

absl::Status RbdPool::FinishFormatting(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(JournalEntry entry, ReadUsable(*ceph, id));
  RETURN_IF_ERROR(RequireHeldHere(entry).status());
  pool::VolumeRecord record = entry.record;
  RETURN_IF_ERROR(pool::LeaveFormatting(record));
  return Journal::Replace(*ceph, entry, record, /*as_holder=*/true);
}

// Through the device, whose client is the one that a takeover fences.
absl::Status RbdPool::BlankAgain(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const JournalEntry entry, ReadUsable(*ceph, id));
  RETURN_IF_ERROR(pool::RequireBlankable(entry.record));
  ASSIGN_OR_RETURN(const os::RbdDevice device, RequireHeldHere(entry));
  return os::ZeroBlockDevice(device.block);
}

}  // namespace holdfast::rbd
