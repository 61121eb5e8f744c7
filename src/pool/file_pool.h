// SPDX-License-Identifier: Apache-2.0
// Volumes as image files in a directory on any filesystem, attached as loop devices.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "os/host_filesystem.h"
#include "os/loop_device.h"
#include "pool/ledger.h"
#include "pool/pool.h"
#include "pool/pool_directory.h"
#include "pool/record_store.h"

namespace holdfast::pool {

class FilePool final : public Pool {
 public:
  // Opens the pool, making it on first use if it may (see PoolDirectory::Open for the errors).
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<FilePool>> Open(const PoolConfig& config,
                                                                      const std::string& node_id,
                                                                      int state_directory_fd,
                                                                      bool may_make = true);

  // UnmapDevice for a volume of a pool that is not open, by the kernel's word alone. Errors as
  // UnmapDevice.
  [[nodiscard]] static absl::Status DetachAbsent(const VolumeId& id);

  [[nodiscard]] const PoolInfo& info() const override { return info_; }
  [[nodiscard]] absl::Status Recover() override;
  [[nodiscard]] absl::StatusOr<std::vector<Leftover>> FindLeftovers() override;
  [[nodiscard]] absl::StatusOr<bool> Repair(const VolumeId& id) override;
  [[nodiscard]] absl::Status CheckReady() override;
  [[nodiscard]] VolumeId IdForName(const std::string& name) const override;
  [[nodiscard]] absl::StatusOr<Volume> Create(const VolumeSpec& spec) override;
  [[nodiscard]] absl::Status Delete(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Volume> Get(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> List(const std::string& after_uuid,
                                                         std::size_t limit) override;
  [[nodiscard]] absl::StatusOr<Volume> Grow(const VolumeId& id, Bytes required,
                                            Bytes limit) override;
  [[nodiscard]] absl::StatusOr<PoolCapacity> GetCapacity(Provisioning provisioning) override;
  [[nodiscard]] absl::StatusOr<PoolUsage> GetUsage() override;
  [[nodiscard]] VolumeCondition Condition(const Volume& volume) override;
  // Nothing is recorded: the volume is on its node and on no other.
  [[nodiscard]] absl::Status PublishTo(const VolumeId& id, const std::string& node,
                                       AccessMode mode) override;
  [[nodiscard]] absl::Status UnpublishFrom(const VolumeId&, const std::string&) override {
    return absl::OkStatus();
  }
  [[nodiscard]] absl::StatusOr<os::BlockDevice> MapDevice(
      const VolumeId& id, AccessMode mode = AccessMode::kSingleNodeWriter) override;
  [[nodiscard]] absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const VolumeId& id) override;
  [[nodiscard]] absl::Status UnmapDevice(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::vector<VolumeId>> ListOwnDevices() override;
  [[nodiscard]] absl::Status UnmapOwnDevice(const VolumeId& id) override;
  [[nodiscard]] absl::Status StartFormatting(const VolumeId& id,
                                             const std::string& filesystem_uuid) override;
  [[nodiscard]] absl::Status FinishFormatting(const VolumeId& id) override;
  [[nodiscard]] absl::Status ZeroVolume(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::string> FormattedUuid(const VolumeId& id) override;

 private:
  FilePool(PoolInfo info, const SpacePolicy& policy, PoolDirectory directory,
           os::DirectIoSupport direct_io, std::string tag)
      : info_(std::move(info)),
        directory_(std::move(directory)),
        direct_io_(direct_io),
        tag_(std::move(tag)),
        ledger_(policy) {}

  // file_pool.cc
  absl::StatusOr<VolumeRecord> ReadRecord(const VerifiedPool& pool, const VolumeId& id);
  // FAILED_PRECONDITION if it is missing: to a CO, NOT_FOUND means that there is no such volume.
  static absl::StatusOr<os::UniqueFd> OpenImageOf(const VerifiedPool& pool,
                                                  const std::string& uuid);
  // FAILED_PRECONDITION if the volume's record is older than its image (RequireUnwanted).
  static absl::Status RequireUnwantedFiles(const VerifiedPool& pool, const VolumeRecord& record);
  // FAILED_PRECONDITION if the image has another size than the record says.
  static absl::Status RequireImageSize(int image_fd, const VolumeRecord& record);
  // RESOURCE_EXHAUSTED while the filesystem lacks the inodes of one more volume.
  absl::StatusOr<Room> MeasureRoom(const VerifiedPool& pool);
  // The room, counted against allocations that are as old as it.
  absl::StatusOr<Room> CountedRoom(const VerifiedPool& pool);
  Ledger::MeasureRoom RoomMeter(const VerifiedPool& pool);
  Ledger::MeasureAllocated AllocationMeter(const VerifiedPool& pool);
  Volume WithPool(Volume volume) const;

  // file_pool_create.cc
  absl::StatusOr<Volume> CreateNew(const VerifiedPool& pool, const VolumeSpec& spec,
                                   const std::string& uuid, Bytes capacity);
  absl::Status FillNewVolume(const VerifiedPool& pool, VolumeRecord& record);
  static absl::Status SyncNames(const VerifiedPool& pool, const std::string& uuid);

  // file_pool_delete.cc
  absl::Status FinishDeletion(const VerifiedPool& pool, const std::string& uuid);
  absl::Status EmptyTrash(const VerifiedPool& pool, const std::string& uuid);

  // file_pool_grow.cc
  absl::Status GrowTo(const VerifiedPool& pool, VolumeRecord& record, Bytes target);
  void CountByRecord(const VerifiedPool& pool, const std::string& uuid);
  absl::Status FinishGrowth(const VerifiedPool& pool, VolumeRecord& record);
  absl::Status ExtendOrUndo(const VerifiedPool& pool, int image_fd, Bytes present,
                            VolumeRecord& record);
  absl::Status UndoGrowth(const VerifiedPool& pool, VolumeRecord& record);

  // file_pool_attach.cc. Only devices of this label are the pool's.
  [[nodiscard]] std::string LabelOf(const std::string& uuid) const;
  absl::StatusOr<os::LoopsOfImage> FindLoops(int image_fd, const std::string& uuid);
  absl::StatusOr<std::optional<os::LoopDevice>> FindLoopOf(int image_fd, const std::string& uuid);
  // These three: FAILED_PRECONDITION if another program attached the image.
  absl::Status RequireNoOtherDevice(int directory_fd, const std::string& uuid);
  absl::Status DetachImage(int image_fd, const std::string& uuid);
  absl::Status DetachOwnDeviceOf(int directory_fd, const std::string& uuid);
  absl::Status DetachUnreachable(const std::string& uuid);
  absl::Status DetachDead(const std::string& uuid);
  absl::Status DetachUnused(const os::LoopDevice& loop, const std::string& uuid);
  // -1 if nothing is remembered.
  int LoopHint(const std::string& uuid);
  void RememberLoop(const std::string& uuid, int index);

  // file_pool_recover.cc
  absl::Status CountVolume(const VerifiedPool& pool, const std::string& uuid);
  absl::Status Count(const VerifiedPool& pool, const VolumeRecord& record);
  void CountByImage(const VerifiedPool& pool, const std::string& uuid);

  // file_pool_repair.cc
  std::optional<LeftoverKind> FindLeftover(const VerifiedPool& pool, const std::string& uuid) const;
  absl::Status SettleGrowth(const VerifiedPool& pool, VolumeRecord& record);

  const PoolInfo info_;
  const PoolDirectory directory_;
  const os::DirectIoSupport direct_io_;
  const std::string tag_;  // in the labels of the pool's devices (core/device_name.h)
  RecordStore records_;
  Ledger ledger_;

  std::mutex mutex_;
  std::map<std::string, int> loop_hints_;  // uuid -> loop index to look at first; guarded by mutex_
  // The last Recount: when, how long it took, how much was free. Guarded by mutex_.
  std::chrono::steady_clock::time_point counted_at_{};
  std::chrono::steady_clock::duration count_took_{};
  Bytes counted_room_ = 0;
};

}  // namespace holdfast::pool
