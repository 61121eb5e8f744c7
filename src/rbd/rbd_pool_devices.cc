// SPDX-License-Identifier: Apache-2.0
// The devices that this node has: finding them, whose they are, taking them away.
#include "os/device_use.h"
#include "rbd/image_name.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {

absl::StatusOr<std::optional<os::BlockDevice>> RbdPool::FindDevice(const VolumeId& id) {
  ASSIGN_OR_RETURN(const auto device, FindDevice(id.uuid));
  if (!device) return std::nullopt;
  return device->block;
}

// Only from the kernel: teardown must not depend on the cluster.
absl::StatusOr<std::vector<RbdDevice>> RbdPool::FindDevices(const std::string& image_prefix) {
  if (!common_->has_devices) return std::vector<RbdDevice>();
  ASSIGN_OR_RETURN(std::vector<RbdDevice> devices, FindRbdDevices(NameOf(image_prefix)));
  const MutexLock lock(common_->mutex);
  std::erase_if(devices,
                [&](const RbdDevice& device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(common_->mutex) {
                  const CephPoolIdentity identity{.cluster = device.cluster,
                                                  .pool_id = device.pool_id,
                                                  .name_space = NamespaceIn(info_.location)};
                  // A pool of that name of another cluster is another pool.
                  return !UuidOfImage(device.image) ||
                         (common_->identity && *common_->identity != identity.ToString());
                });
  return devices;
}

absl::StatusOr<std::optional<RbdDevice>> RbdPool::FindDevice(const std::string& uuid) {
  RETURN_IF_ERROR(common_->device_calls.Await(uuid));
  ASSIGN_OR_RETURN(std::vector<RbdDevice> devices, FindDevices(ImagePrefix(uuid)));
  if (devices.empty()) return std::nullopt;
  if (devices.size() == 1) return std::move(devices.front());
  // It is unknown which of them a mount uses.
  return FailedPrecondition("images of volume {} are mapped twice, as {} and {}; unmap one", uuid,
                            devices[0].block.path, devices[1].block.path);
}

absl::StatusOr<std::vector<VolumeId>> RbdPool::ListOwnDevices() {
  ASSIGN_OR_RETURN(const std::vector<RbdDevice> devices, FindDevices(kImagePrefix));
  std::vector<VolumeId> volumes;
  for (const RbdDevice& device : devices) {
    volumes.push_back(VolumeId{info_.name, info_.node, *UuidOfImage(device.image)});
  }
  return volumes;
}

// The record distinguishes our devices from others on the same image: it has the client's address,
// or the announcement of a mapping that a kill cut short.
absl::Status RbdPool::UnmapOwnDevice(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const auto device, FindDevice(id.uuid));
  const auto entry = Read(*ceph, id);
  if (!device) return absl::IsNotFound(entry.status()) ? entry.status() : UnmapDevice(id);
  if (!entry.ok() && !absl::IsNotFound(entry.status())) return entry.status();
  const DeviceClaim* const own = entry.ok() ? entry->nodes.Find(common_->node_id) : nullptr;
  const bool ours =
      own != nullptr && IsClaimOf(*own, *device) && entry->record.image_name == device->image;
  if (ours) return UnmapDevice(id);
  return FailedPrecondition(
      "another program has mapped image '{}' as {}; if that is not needed: rbd unmap",
      device->image, device->block.path);
}

bool RbdPool::IsClaimOf(const DeviceClaim& holder, const RbdDevice& device) const {
  return holder.node == common_->node_id &&
         (holder.client_address.empty() ? IsOwn(holder)
                                        : holder.client_address == device.client_address);
}

// A writer of another boot may be another machine that was given this node's name, as a clone's or
// a successor's: its watch shows whether it lives, as any other node's does. For a reader nothing
// would, so after a reboot only its name shows whose it is.
bool RbdPool::IsOwn(const DeviceClaim& holder) const {
  return common_->has_devices && holder.node == common_->node_id &&
         (holder.read_only || holder.boot_id == common_->boot_id);
}

absl::Status RbdPool::UnmapDevice(const VolumeId& id) {
  ASSIGN_OR_RETURN(const auto device, FindDevice(id.uuid));
  if (device) RETURN_IF_ERROR(Unmap(*device));
  const absl::Status released = Release(id);
  if (released.ok()) return released;
  return Unavailable(
      "volume '{}' is no longer a device of this node, but is still recorded as one: {}",
      id.ToString(), MessageOf(released));
}

absl::Status RbdPool::Unmap(const RbdDevice& device) {
  RETURN_IF_ERROR(os::RequireUnused(device.block));
  // FindDevices finds none that is not called after a volume.
  return common_->device_calls.Unmap(*UuidOfImage(device.image), device);
}

// That this node's device, which may write, is the one that the list of nodes says has the volume:
// a node that was fenced while it formatted must not decide anything.
absl::StatusOr<RbdDevice> RbdPool::RequireHeldHere(const RecordEntry& entry) {
  const std::string& uuid = entry.record.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, FindDevice(uuid));
  const DeviceClaim writer{.node = common_->node_id,
                           .client_address = device ? device->client_address : "",
                           .sharing = Sharing::kAlone,
                           .read_only = false,
                           .boot_id = common_->boot_id};
  if (device && entry.nodes.holders == std::vector{writer}) return *device;
  return FailedPrecondition("volume {} is not, or no longer, held by this node", uuid);
}

}  // namespace holdfast::rbd
