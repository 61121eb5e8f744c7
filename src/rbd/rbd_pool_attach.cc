// SPDX-License-Identifier: Apache-2.0
// Making an image a device of this node.
//
// A node announces in the list of nodes that it maps the image, maps it, which writes nothing, and
// claims it with the address that its client has then. Of two nodes that want it at once and cannot
// share it one gets it, and what a kill leaves of a mapping is known to be that node's. The
// kernel's own exclusive lock keeps the object map true; it does not keep nodes apart, since
// clients hand it over to any client that asks, and a growth needs them to (docs/adr/0017, 0018).
#include "core/log.h"
#include "rbd/ceph_access.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

// That the device shows this image of this pool of this cluster, and not only its name.
absl::Status RequireShows(const RbdDevice& device, const CephPool& ceph,
                          const pool::VolumeRecord& record) {
  if (device.cluster == ceph.identity().cluster && device.pool_id == ceph.identity().pool_id &&
      device.image == record.image_name && device.image_id == record.image_id) {
    return absl::OkStatus();
  }
  return FailedPrecondition(
      "{} shows image '{}' with id {}, the volume's is '{}' with id {}; unmap it",
      device.block.path, device.image, device.image_id, record.image_name, record.image_id);
}

void LogReleaseFailure(const VolumeId& id, const absl::Status& released) {
  if (released.ok()) return;
  LogWarning("volume {} keeps its claim of this node: {}", id.ToString(), MessageOf(released));
}

}  // namespace

// Readers can neither make a filesystem nor end what was begun with it.
absl::Status RbdPool::RequireReadable(const pool::VolumeRecord& record, const VolumeId& id) const {
  const Volume& volume = record.volume;
  if (volume.access_type == AccessType::kMount && volume.state != VolumeState::kFormatted) {
    return FailedPrecondition(
        "volume '{}' was never formatted, and readers do not format: stage it once with an access "
        "mode that writes",
        id.ToString());
  }
  if (!common_->undo_files.Has(id)) return absl::OkStatus();
  return FailedPrecondition(
      "a check of the filesystem of volume '{}' was interrupted on this node: stage it here once "
      "with an access mode that writes",
      id.ToString());
}

absl::StatusOr<RbdDevice> RbdPool::FindOrMap(const CephPool& ceph, RecordEntry& entry,
                                             const VolumeId& id, const DeviceClaim& wanted) {
  ASSIGN_OR_RETURN(const auto present, FindDevice(id.uuid));
  if (!present) return Map(ceph, entry, id, wanted);
  const DeviceClaim* const own = entry.nodes.Find(common_->node_id);
  const bool ours = own != nullptr && IsClaimOf(*own, *present);
  const bool as_wanted =
      ours && own->sharing == wanted.sharing && own->read_only == wanted.read_only;
  if (as_wanted) {
    RETURN_IF_ERROR(RequireShows(*present, ceph, entry.record));
    if (own->client_address.empty()) {
      RETURN_IF_ERROR(Claim(ceph, entry, id, DeviceClaim(*own), present->client_address));
    }
    return *present;
  }
  for (const DeviceClaim& holder : entry.nodes.holders) {
    // Another node's own device: two drivers share this kernel.
    if (!ours && holder.client_address == present->client_address) {
      return InUse(entry.record.volume.id.uuid, holder);
    }
  }
  // Held in another way; or left from before another node took the volume over, which has fenced
  // its client; or mapped by hand. It must not be mistaken for one that no other client can have
  // been writing to.
  RETURN_IF_ERROR(Unmap(*present));
  return Map(ceph, entry, id, wanted);
}

absl::StatusOr<RbdDevice> RbdPool::Map(const CephPool& ceph, RecordEntry& entry, const VolumeId& id,
                                       const DeviceClaim& wanted) {
  RETURN_IF_ERROR(Announce(ceph, entry, id, wanted));
  auto device = MapAndClaim(ceph, entry, id, wanted);
  // While the kernel may still make a device, the record must name this node.
  const bool is_open = common_->device_calls.IsUnderWay(id.uuid);
  if (!device.ok() && !is_open) LogReleaseFailure(id, Release(id));
  return device;
}

absl::StatusOr<RbdDevice> RbdPool::MapAndClaim(const CephPool& ceph, RecordEntry& entry,
                                               const VolumeId& id, const DeviceClaim& announced) {
  ASSIGN_OR_RETURN(const MonitorAddresses monitors, AskMonitorAddresses(ceph.cluster()));
  ASSIGN_OR_RETURN(const std::string key, KeyOf(access_));
  const RbdMapping mapping{.image = NameOf(entry.record.image_name),
                           .monitors = monitors.addresses,
                           .messenger_v2 = monitors.messenger_v2,
                           .user = access_.user,
                           .key = key,
                           .read_only = announced.read_only};
  ASSIGN_OR_RETURN(RbdDevice device, common_->device_calls.Map(id.uuid, mapping));
  absl::Status usable = RequireShows(device, ceph, entry.record);
  if (usable.ok()) usable = Claim(ceph, entry, id, announced, device.client_address);
  if (usable.ok()) return device;
  const absl::Status unmapped = Unmap(device);
  if (!unmapped.ok()) LogWarning("after a failed attachment: {}", MessageOf(unmapped));
  return usable;
}

}  // namespace holdfast::rbd
