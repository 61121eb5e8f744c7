// SPDX-License-Identifier: Apache-2.0
// Records and images of an rbd pool, as the volume state machine sees them. All objects serve one
// call; the images' functions judge the nodes that were read with the record, so that a change
// which depends on them (as_holder) holds only if they are still the same.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pool/volume_lifecycle.h"
#include "rbd/image_name.h"
#include "rbd/image_snapshots.h"
#include "rbd/rbd_pool.h"
#include "rbd/trash_table.h"

namespace holdfast::rbd {

class RbdPool::Records final : public pool::VolumeRecords {
 public:
  Records(const RbdPool& pool, const CephPool& ceph) : pool_(pool), ceph_(ceph) {}

  // From now on a record with another image, which is another volume of that name, is ABORTED.
  void Expect(std::string image_name) { expected_image_ = std::move(image_name); }

  // The volume's record as read or written last; null if there is none.
  [[nodiscard]] RecordEntry* Find(const std::string& uuid);
  // It was moved to the trash.
  void Forget(const std::string& uuid) { entries_.erase(uuid); }

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
  std::string expected_image_;
  std::map<std::string, RecordEntry> entries_;  // by uuid: a copy's and its source's
};

class RbdPool::Images final : public pool::VolumeBackend {
 public:
  // `wanted` is how Map claims the device; `cut` is how the writers of a source are held back.
  Images(RbdPool& pool, const CephPool& ceph, Records& records, DeviceClaim wanted,
         const CutOptions& cut)
      : pool_(pool), ceph_(ceph), records_(records), wanted_(std::move(wanted)), cut_(cut) {}

  absl::StatusOr<bool> Exist(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Size(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> HoldData(const pool::VolumeRecord& record, Bytes begin) override;
  absl::StatusOr<std::string> ReadMark(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> IsMarkedCopied(const pool::VolumeRecord&) override { return false; }
  std::string NewName(const pool::VolumeRecord& record, const pool::VolumeRecord* source) override;
  absl::StatusOr<std::string> Make(const pool::VolumeRecord& record) override;
  // rbd_volumes_copies.cc
  int CloneDepth(const pool::VolumeRecord& source, VolumeRole role) override;
  absl::StatusOr<std::optional<pool::CopyProgress>> PlanCopy(const pool::VolumeRecord& source,
                                                             VolumeRole role) override;
  absl::StatusOr<std::string> Copy(const pool::VolumeRecord& source,
                                   const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> CopyOn(const pool::VolumeRecord& source,
                               const pool::VolumeRecord& record) override;
  // rbd_pool_groups.cc
  absl::Status RequireCutsTogether() override { return absl::OkStatus(); }
  absl::Status PrepareCut(const pool::VolumeRecord& source,
                          const pool::VolumeRecord& record) override;
  absl::StatusOr<Held> HoldWriters(const pool::VolumeRecord& source) override;
  absl::Status CutHeld(const pool::VolumeRecord& source, const pool::VolumeRecord& record,
                       const Held& held) override;
  absl::StatusOr<std::string> FinishCut(const pool::VolumeRecord& source,
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

  // What a holder still has under way would make objects that belong to no image, or change what is
  // kept.
  absl::Status FenceHolders(const RecordEntry& entry);

 private:
  absl::StatusOr<std::optional<std::string>> FindImage(const pool::VolumeRecord& record);
  absl::StatusOr<std::string> RequireImage(const pool::VolumeRecord& record);
  absl::StatusOr<RecordEntry*> EntryOf(const pool::VolumeRecord& record);

  // rbd_volumes_copies.cc
  struct FoundSnapshot {
    SnapshotIds ids;
    Bytes size = 0;
  };
  absl::StatusOr<std::optional<FoundSnapshot>> FindSnapshot(const pool::VolumeRecord& record);
  absl::StatusOr<std::string> Cut(const pool::VolumeRecord& source, const SnapshotName& name);
  absl::StatusOr<std::string> Clone(const pool::VolumeRecord& record, const SnapshotName& from,
                                    const std::string& from_ids);
  absl::Status DiscardImage(const pool::VolumeRecord& record);
  absl::Status DiscardSnapshot(const pool::VolumeRecord& record, const SnapshotName& name);
  absl::Status RemoveCut(const pool::VolumeRecord& record);
  absl::Status RemoveCutOf(const std::string& image, const pool::VolumeRecord& record);
  absl::Status Retain(const std::string& image, const absl::Status& why);
  absl::StatusOr<std::optional<SnapshotName>> FindParent(const std::string& image);
  void RemoveIfUnneeded(const std::string& name);
  void RemoveIfUnneeded(const SnapshotName& snapshot);

  // rbd_pool_groups.cc
  absl::StatusOr<bool> MayBeWritten(const pool::VolumeRecord& source);
  absl::StatusOr<std::optional<DeviceClaim>> FindOnlyWriter(const pool::VolumeRecord& source);
  absl::StatusOr<std::unique_ptr<pool::Quiet>> Quiesce(const pool::VolumeRecord& source,
                                                       bool freeze);

  RbdPool& pool_;
  const CephPool& ceph_;
  Records& records_;
  const DeviceClaim wanted_;
  const CutOptions cut_;
  bool cut_early_ = false;  // a group's member: because nothing seemed to write to its source
  std::optional<DeviceClaim> writer_;  // a group's member: who alone could when it was cut
  std::string cut_id_;
  std::optional<RbdDevice> unmapped_;  // by this call
  std::string looked_up_;              // the image's name whose id was asked
  std::optional<std::string> image_id_;
};

// Deleted volumes and snapshots that are kept: their records are under other keys, and their bytes
// where they were (rbd/trash_table.h).
class RbdPool::Shelf final : public pool::VolumeShelf {
 public:
  Shelf(const CephPool& ceph, Records& records, Images& images)
      : ceph_(ceph), records_(records), images_(images) {}

  absl::StatusOr<pool::VolumeRecord> Read(const std::string& key) override;
  absl::Status Put(const pool::VolumeRecord& record) override;
  absl::Status TakeBack(const pool::VolumeRecord& record, const pool::VolumeRecord& next) override;
  absl::Status Replace(const pool::VolumeRecord& present, const pool::VolumeRecord& next) override;
  absl::Status Purge(const pool::VolumeRecord& record) override;
  absl::Status RequireWhole(const pool::VolumeRecord& record) override;
  // What is freed with it: of an image with snapshots, which stays, and of a snapshot nothing that
  // is known.
  absl::StatusOr<Bytes> Allocated(const pool::VolumeRecord& record) override;
  // Ceph keeps the account.
  absl::StatusOr<Bytes> Occupied(const pool::VolumeRecord&) override { return Bytes{0}; }

 private:
  absl::StatusOr<TrashedRecord*> EntryOf(const pool::VolumeRecord& record);
  absl::Status RequireNamedHereOnly(const pool::VolumeRecord& record);

  const CephPool& ceph_;
  Records& records_;
  Images& images_;
  std::map<std::string, TrashedRecord> entries_;  // by key, as read or written last
};

// Ceph keeps the account of its pools, and refuses what does not fit.
class RbdPool::Space final : public pool::VolumeSpace {
 public:
  Space(RbdPool& pool, const CephPool& ceph) : pool_(pool), ceph_(ceph) {}

  absl::StatusOr<std::unique_ptr<pool::Reservation>> Reserve(const std::string& uuid,
                                                             Provisioning provisioning,
                                                             Bytes increment) override;
  void Set(const std::string&, Provisioning, Bytes, Bytes) override {}
  void Release(const std::string& name) override;
  bool WouldFitWithout(const std::vector<std::string>& names, Provisioning provisioning,
                       Bytes increment) override;
  bool Has(const std::string&, Provisioning, Bytes) override { return true; }

 private:
  RbdPool& pool_;
  const CephPool& ceph_;
  std::map<std::string, Bytes> to_free_;  // with entries of the trash, by key
};

// What the state machine works on in one call.
struct RbdPool::Call {
  Call(RbdPool& pool, const CephPool& ceph, AccessMode mode = AccessMode::kSingleNodeWriter,
       const CutOptions& cut = {})
      : records(pool, ceph),
        images(pool, ceph, records, pool.ClaimFor(mode), cut),
        space(pool, ceph),
        shelf(ceph, records, images),
        volumes(records, images, space, absl::Now, pool::Keeping{shelf, pool.common_->trash}) {}
  Records records;
  Images images;
  Space space;
  Shelf shelf;
  pool::VolumeLifecycle volumes;
};

}  // namespace holdfast::rbd
