// SPDX-License-Identifier: Apache-2.0
// Records and images of an rbd pool, as the volume state machine sees them. All objects serve one
// call; the images' functions judge the nodes that were read with the record, so that a change
// which depends on them (as_holder) holds only if they are still the same.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pool/volume_lifecycle.h"
#include "rbd/image_name.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {

class RbdPool::Records final : public pool::VolumeRecords {
 public:
  Records(const RbdPool& pool, const CephPool& ceph) : pool_(pool), ceph_(ceph) {}

  // As read or written last; nothing if there is no record.
  [[nodiscard]] std::optional<RecordEntry>& entry() { return entry_; }

  bool AreShared() const override { return true; }
  absl::StatusOr<pool::VolumeRecord> Read(const std::string& uuid) override;
  absl::Status Insert(const pool::VolumeRecord& record) override;
  absl::Status Replace(const pool::VolumeRecord& present, const pool::VolumeRecord& next) override;
  absl::Status Remove(const pool::VolumeRecord& present) override;
  // A change is durable when the cluster has answered, and every process lists what is stored.
  absl::Status SyncName() override { return absl::OkStatus(); }
  absl::Status SyncAll(const std::string&) override { return absl::OkStatus(); }
  bool Lists(const std::string&) override { return true; }
  void Enlist(const pool::VolumeRecord&) override {}
  bool HasRemains(const std::string&) override { return false; }
  absl::Status RemoveRemains(const std::string&) override { return absl::OkStatus(); }

 private:
  const RbdPool& pool_;
  const CephPool& ceph_;
  std::optional<RecordEntry> entry_;
};

class RbdPool::Images final : public pool::VolumeBackend {
 public:
  // `wanted` is how Map claims the device.
  Images(RbdPool& pool, const CephPool& ceph, Records& records, DeviceClaim wanted)
      : pool_(pool), ceph_(ceph), records_(records), wanted_(std::move(wanted)) {}

  absl::StatusOr<bool> Exist(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Size(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> HoldData(const pool::VolumeRecord& record, Bytes begin) override;
  absl::StatusOr<std::string> ReadMark(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> IsMarkedCopied(const pool::VolumeRecord&) override { return false; }
  std::string NewName(const std::string& uuid) override { return NewImageName(uuid); }
  absl::StatusOr<std::string> Make(const pool::VolumeRecord& record) override;
  absl::StatusOr<std::string> Copy(const pool::VolumeRecord& source,
                                   const pool::VolumeRecord& record) override;
  absl::Status MarkCopied(const pool::VolumeRecord&) override { return absl::OkStatus(); }
  absl::StatusOr<bool> SharesStorage(const pool::VolumeRecord&) override { return false; }
  absl::StatusOr<bool> Unshare(const pool::VolumeRecord&) override { return true; }
  absl::Status RemoveUnfinished(const pool::VolumeRecord& record) override {
    return Discard(record);
  }
  absl::Status Extend(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status CutOff(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status Sync(const pool::VolumeRecord&) override { return absl::OkStatus(); }
  absl::Status RequireHeldHere(const pool::VolumeRecord& record) override;
  absl::Status Zero(const pool::VolumeRecord& record) override;
  absl::Status Mark(const pool::VolumeRecord& record) override;
  // Ceph keeps the account.
  absl::StatusOr<Bytes> Allocated(const pool::VolumeRecord&) override { return Bytes{0}; }
  absl::StatusOr<Bytes> Occupied(const pool::VolumeRecord&) override { return Bytes{0}; }
  absl::Status Discard(const pool::VolumeRecord& record) override;
  absl::Status Purge(const std::string&) override { return absl::OkStatus(); }
  bool HasDiscarded(const std::string&) override { return false; }
  // Repair has looked for images that no record names.
  absl::Status RequireOnlyOwn(const std::string&) override { return absl::OkStatus(); }
  absl::StatusOr<os::BlockDevice> Map(const pool::VolumeRecord& record) override;
  absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const pool::VolumeRecord& record) override;
  absl::Status RefreshDevice(const pool::VolumeRecord& record) override;
  absl::Status RequireUnused(const pool::VolumeRecord& record) override;
  absl::Status Unmap(const pool::VolumeRecord& record) override;
  absl::Status UnmapAbandoned(const pool::VolumeRecord& record) override { return Unmap(record); }

 private:
  absl::StatusOr<std::optional<std::string>> FindImage(const pool::VolumeRecord& record);
  absl::StatusOr<std::string> RequireImage(const pool::VolumeRecord& record);
  absl::Status FenceHolders(const RecordEntry& entry);

  RbdPool& pool_;
  const CephPool& ceph_;
  Records& records_;
  const DeviceClaim wanted_;
  std::optional<RbdDevice> unmapped_;  // by this call
  std::string looked_up_;              // the image's name whose id was asked
  std::optional<std::string> image_id_;
};

// Ceph keeps the account of its pools, and refuses what does not fit.
class RbdPool::Space final : public pool::VolumeSpace {
 public:
  Space(RbdPool& pool, const CephPool& ceph) : pool_(pool), ceph_(ceph) {}

  absl::StatusOr<std::unique_ptr<pool::Reservation>> Reserve(const std::string& uuid,
                                                             Provisioning provisioning,
                                                             Bytes increment) override;
  void Set(const std::string&, Provisioning, Bytes, Bytes) override {}
  void Release(const std::string&) override {}
  bool Has(const std::string&, Provisioning, Bytes) override { return true; }

 private:
  RbdPool& pool_;
  const CephPool& ceph_;
};

// What the state machine works on in one call.
struct RbdPool::Call {
  Call(RbdPool& pool, const CephPool& ceph, AccessMode mode = AccessMode::kSingleNodeWriter)
      : records(pool, ceph),
        images(pool, ceph, records, pool.ClaimFor(mode)),
        space(pool, ceph),
        volumes(records, images, space) {}
  Records records;
  Images images;
  Space space;
  pool::VolumeLifecycle volumes;
};

}  // namespace holdfast::rbd
