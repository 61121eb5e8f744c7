// SPDX-License-Identifier: Apache-2.0
// Making an image a device of this node, and who may; and the steps around formatting that the
// record guards.
//
// A node announces in the journal that it maps the image, maps it, which writes nothing, and claims
// it with the address that its client has then. Of two nodes that want it at once one gets it, and
// what a kill leaves of a mapping is known to be that node's. The kernel's own exclusive lock keeps
// the object map true; it does not keep nodes apart, since clients hand it over to whoever asks,
// and a growth needs them to (docs/adr/0017).
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "core/log.h"
#include "pool/format_state.h"
#include "rbd/ceph_key.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

// A machine that was suspended may come back with writes under way long after it was fenced, so the
// fence is to stay. Addresses are never used again: one that stays hurts nobody.
constexpr std::chrono::hours kFenceTime{24 * 365};
// A process that grows or deletes an image has it open for a moment.
constexpr std::chrono::seconds kOpenerPatience{5};
constexpr std::chrono::milliseconds kOpenerInterval{100};

absl::Status RequireImage(const std::optional<ImageFacts>& facts,
                          const pool::VolumeRecord& record) {
  const std::string& name = record.image_name;
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
  const Holder& holder = *entry.holder;
  return FailedPrecondition("volume {} is in use on node '{}' (client {})",
                            entry.record.volume.id.uuid, holder.node,
                            holder.client_address.empty() ? "unknown" : holder.client_address);
}

// That the device shows this image of this pool of this cluster, and not only its name.
absl::Status RequireShows(const os::RbdDevice& device, const CephPool& ceph,
                          const pool::VolumeRecord& record) {
  if (device.cluster == ceph.identity().cluster && device.pool_id == ceph.identity().pool_id &&
      device.image == record.image_name && device.image_id == record.image_id) {
    return absl::OkStatus();
  }
  return FailedPrecondition(
      "{} shows image '{}' with id {}, the volume's is '{}' with id {}; unmap it",
      device.block.path, device.image, device.image_id, record.image_name, record.image_id);
}

}  // namespace

absl::Status Fence(Cluster& cluster, const Holder& holder) {
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

absl::StatusOr<os::BlockDevice> RbdPool::Attach(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(JournalEntry entry, ReadUsable(*ceph, id));
  if (entry.record.grow_to_bytes != 0) RETURN_IF_ERROR(FinishGrowth(*ceph, entry));
  ASSIGN_OR_RETURN(os::RbdDevice device, FindOrMap(*ceph, entry, id));
  os::BlockDevice& block = device.block;
  const Bytes capacity = entry.record.volume.capacity_bytes;
  if (block.size != capacity) {
    ASSIGN_OR_RETURN(block.size, os::RefreshRbdDevice(device));
  }
  if (block.size == capacity) return block;
  return Internal("{} has {} bytes, volume '{}' has {}", block.path, block.size, id.ToString(),
                  capacity);
}

absl::StatusOr<os::RbdDevice> RbdPool::FindOrMap(const CephPool& ceph, JournalEntry& entry,
                                                 const VolumeId& id) {
  ASSIGN_OR_RETURN(const auto present, FindDevice(id.uuid));
  if (!present) return Map(ceph, entry, id);
  if (entry.holder && IsClaimOf(*entry.holder, *present)) {
    RETURN_IF_ERROR(RequireShows(*present, ceph, entry.record));
    const Holder here{.node = node_id_, .client_address = present->client_address};
    if (entry.holder != here) RETURN_IF_ERROR(Journal::SetHolder(ceph, entry, here));
    return *present;
  }
  // The holder's own device: two drivers share this kernel.
  if (entry.holder && entry.holder->client_address == present->client_address) return InUse(entry);
  // Left from before another node took the volume over, which has fenced its client; or mapped by
  // hand. It must not be taken for one that nobody else can have been writing to.
  RETURN_IF_ERROR(Unmap(*present));
  return Map(ceph, entry, id);
}

absl::StatusOr<os::RbdDevice> RbdPool::Map(const CephPool& ceph, JournalEntry& entry,
                                           const VolumeId& id) {
  RETURN_IF_ERROR(RequireFree(ceph, entry));
  const bool was_here = entry.holder && entry.holder->node == node_id_;
  if (!was_here) RETURN_IF_ERROR(stages_.ForgetUndo(id));
  RETURN_IF_ERROR(Journal::SetHolder(ceph, entry, Holder{.node = node_id_, .client_address = ""}));
  auto device = MapAndClaim(ceph, entry);
  if (!device.ok()) Release(id);
  return device;
}

absl::StatusOr<os::RbdDevice> RbdPool::MapAndClaim(const CephPool& ceph, JournalEntry& entry) {
  ASSIGN_OR_RETURN(const MonitorAddresses monitors, AskMonitorAddresses(ceph.cluster()));
  ASSIGN_OR_RETURN(const std::string key, ReadCephKey(access_.keyring, access_.user));
  ASSIGN_OR_RETURN(os::RbdDevice device, os::MapRbdImage({.image = NameOf(entry.record.image_name),
                                                          .monitors = monitors.addresses,
                                                          .messenger_v2 = monitors.messenger_v2,
                                                          .user = access_.user,
                                                          .key = key,
                                                          .read_only = false}));
  absl::Status usable = RequireShows(device, ceph, entry.record);
  if (usable.ok()) {
    usable = Journal::SetHolder(ceph, entry,
                                Holder{.node = node_id_, .client_address = device.client_address});
  }
  if (usable.ok()) return device;
  const absl::Status unmapped = Unmap(device);
  if (!unmapped.ok()) LogWarning("after a failed attachment: {}", MessageOf(unmapped));
  return usable;
}

// That nobody else has the image, or only a holder whose client is gone, which is fenced.
absl::Status RbdPool::RequireFree(const CephPool& ceph, const JournalEntry& entry) {
  const std::string holder = entry.holder ? entry.holder->client_address : "";
  const auto deadline = std::chrono::steady_clock::now() + kOpenerPatience;
  while (true) {
    ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph, entry.record.image_name));
    RETURN_IF_ERROR(RequireImage(facts, entry.record));
    RETURN_IF_ERROR(os::RequireRbdFeatures(facts->features));
    std::vector<std::string> watchers = facts->watchers;
    const auto held = std::ranges::find(watchers, holder);
    if (held != watchers.end()) {
      // This node's own client is gone with its device: a reboot. Its watch ends by and by.
      if (entry.holder->node != node_id_) return InUse(entry);
      watchers.erase(held);
    }
    if (watchers.empty())
      return entry.holder ? Fence(ceph.cluster(), *entry.holder) : absl::OkStatus();
    if (std::chrono::steady_clock::now() > deadline) {
      if (entry.holder && holder.empty() && entry.holder->node != node_id_) return InUse(entry);
      return FailedPrecondition("image '{}' is open in clients {}, which are no node's of Holdfast",
                                entry.record.image_name, fmt::join(watchers, ", "));
    }
    std::this_thread::sleep_for(kOpenerInterval);
  }
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
