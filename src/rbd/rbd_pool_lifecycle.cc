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
  if (spec.source) {
    return FailedPrecondition("pool '{}' cannot make snapshots and copies: it is of kind rbd",
                              info_.name);
  }
  if (spec.provisioning == Provisioning::kThick) {
    return InvalidArgument(
        "pool '{}' cannot make thick volumes: Ceph allocates when written; give the class the "
        "parameter provisioning: thin",
        info_.name);
  }
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  Call call(*this, *ceph);
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   call.volumes.Create(spec, IdForName(spec.name), kSectorSize));
  return WithPool(record.volume);
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

absl::Status RbdPool::DeleteSnapshot(const VolumeId&) { return absl::OkStatus(); }

absl::StatusOr<Volume> RbdPool::GetSnapshot(const VolumeId& id) {
  return NotFound("there is no snapshot '{}'", ToSnapshotId(id));
}

absl::StatusOr<std::vector<Volume>> RbdPool::ListSnapshots(const std::string&, std::size_t) {
  return std::vector<Volume>();
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

absl::StatusOr<std::string> RbdPool::FormattedUuid(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.FormattedUuid(id);
}

absl::Status RbdPool::ZeroVolume(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.Zero(id);
}

}  // namespace holdfast::rbd
