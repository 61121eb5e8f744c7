// SPDX-License-Identifier: Apache-2.0
// Calls that the volume state machine carries out, each over a connection to the pool.
#include "os/device_use.h"
#include "rbd/rbd_pool.h"
#include "rbd/rbd_volumes.h"

namespace holdfast::rbd {
namespace {

constexpr std::uint32_t kSectorSize = 512;  // of krbd's devices

}  // namespace

absl::StatusOr<Volume> RbdPool::Create(const VolumeSpec& spec) {
  ASSIGN_OR_RETURN(const VolumeSpec adapted, Adapted(spec));
  const bool cuts = spec.source && spec.source->role == VolumeRole::kVolume;
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, cuts ? TakeSnapshotPermit() : TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  if (spec.role == VolumeRole::kSnapshot && spec.cut.must_freeze) {
    RETURN_IF_ERROR(RequireNotInUse(*ceph, *spec.source));
  }
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, *ceph).volumes.Create(adapted, IdForSpec(spec), kSectorSize));
  return WithPool(record.volume);
}

// Content of another pool gets the sectors that the kernel's client shows. A filesystem may have
// larger ones than its device; what is on a raw device may count in its own.
absl::StatusOr<VolumeSpec> RbdPool::Adapted(const VolumeSpec& spec) const {
  VolumeSpec adapted = spec;
  if (spec.role == VolumeRole::kVolume && spec.provisioning == Provisioning::kThick) {
    return InvalidArgument(
        "pool '{}' cannot make thick volumes: Ceph allocates when written; give the class the "
        "parameter provisioning: thin",
        info_.name);
  }
  if (!spec.content || spec.content->sector_size == kSectorSize) return adapted;
  if (spec.access_type == AccessType::kBlock) {
    return InvalidArgument(
        "volume_content_source is a raw block device with sectors of {} bytes, and those of pool "
        "'{}' have {}",
        spec.content->sector_size, info_.name, kSectorSize);
  }
  adapted.content->sector_size = kSectorSize;
  return adapted;
}

absl::Status RbdPool::RequireNotInUse(const CephPool& ceph, const ContentSource& source) const {
  ASSIGN_OR_RETURN(const RecordEntry entry, ReadUsable(ceph, source.id));
  if (entry.nodes.holders.empty()) return absl::OkStatus();
  return FailedPrecondition(
      "volume '{}' is in use on node '{}', and volumes of pool '{}' cannot be frozen for a "
      "snapshot; leave out the parameter consistency: the snapshot is then as after a power cut",
      source.id.ToString(), entry.nodes.holders.front().node, info_.name);
}

absl::Status RbdPool::Delete(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.Delete(id);
}

absl::StatusOr<Volume> RbdPool::Get(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record, Call(*this, *ceph).volumes.Get(id));
  return WithPool(record.volume);
}

absl::Status RbdPool::DeleteSnapshot(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeSnapshotPermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.Delete(id, VolumeRole::kSnapshot);
}

absl::StatusOr<Volume> RbdPool::GetSnapshot(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, *ceph).volumes.Get(id, VolumeRole::kSnapshot));
  return WithPool(record.volume);
}

absl::StatusOr<Volume> RbdPool::Grow(const VolumeId& id, Bytes required, Bytes limit) {
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, *ceph).volumes.Grow(id, required, limit));
  return WithPool(record.volume);
}

absl::StatusOr<os::BlockDevice> RbdPool::MapDevice(const VolumeId& id, AccessMode mode) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph, mode).volumes.Map(id);
}

absl::Status RbdPool::StartFormatting(const VolumeId& id, const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.StartFormatting(id, filesystem_uuid);
}

absl::Status RbdPool::FinishFormatting(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.FinishFormatting(id);
}

absl::Status RbdPool::FinishAdoption(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.FinishAdoption(id);
}

absl::StatusOr<Volume> RbdPool::TakeOverFilesystem(const VolumeId& id,
                                                   const std::string& filesystem,
                                                   const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, *ceph).volumes.TakeOver(id, filesystem, filesystem_uuid));
  return WithPool(record.volume);
}

absl::StatusOr<std::string> RbdPool::FormattedUuid(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.FormattedUuid(id);
}

absl::Status RbdPool::ZeroVolume(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.Zero(id);
}

}  // namespace holdfast::rbd
