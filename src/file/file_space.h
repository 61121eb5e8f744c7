// SPDX-License-Identifier: Apache-2.0
// The account of a file pool's space: its ledger, fed with what the host filesystem and the images
// say.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "file/pool_directory.h"
#include "pool/ledger.h"
#include "pool/pool.h"
#include "pool/volume_backend.h"

namespace holdfast::file {

// Thread-safe.
class FileSpace final {
 public:
  FileSpace(std::string pool_name, const pool::SpacePolicy& policy)
      : pool_name_(std::move(pool_name)), ledger_(policy) {}

  // Pool::GetCapacity and Pool::GetUsage, but for the number of volumes.
  [[nodiscard]] absl::StatusOr<PoolCapacity> Capacity(const VerifiedPool& pool,
                                                      Provisioning provisioning);
  [[nodiscard]] absl::StatusOr<pool::PoolUsage> Usage(const VerifiedPool& pool);

  // Whether the host filesystem has nothing left for anyone; one that keeps blocks for root may
  // still give those.
  [[nodiscard]] static bool IsFull(const VerifiedPool& pool);

  // VolumeSpace::Reserve. RESOURCE_EXHAUSTED also while the filesystem lacks the inodes of one more
  // volume.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<pool::Reservation>> Reserve(
      const VerifiedPool& pool, const std::string& uuid, Provisioning provisioning,
      Bytes increment);
  // VolumeSpace::WouldFitWithout
  [[nodiscard]] bool WouldFitWithout(const VerifiedPool& pool,
                                     const std::vector<std::string>& names,
                                     Provisioning provisioning, Bytes increment);
  [[nodiscard]] pool::Ledger& ledger() { return ledger_; }

 private:
  absl::StatusOr<pool::Room> MeasureRoom(const VerifiedPool& pool);
  enum class Recount { kIfRoomChanged, kIfQuick };
  // The room, counted against allocations that are as old as it.
  absl::StatusOr<pool::Room> CountedRoom(const VerifiedPool& pool, Recount recount);
  pool::Ledger::MeasureRoom RoomMeter(const VerifiedPool& pool);
  static pool::Ledger::MeasureAllocated AllocationMeter(const VerifiedPool& pool);

  const std::string pool_name_;
  pool::Ledger ledger_;

  Mutex mutex_;
  // The last Recount: when, how long it took, how much was free.
  std::chrono::steady_clock::time_point counted_at_ ABSL_GUARDED_BY(mutex_){};
  std::chrono::steady_clock::duration count_took_ ABSL_GUARDED_BY(mutex_){};
  Bytes counted_room_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The same for one call.
class FileSpaceOfCall final : public pool::VolumeSpace {
 public:
  FileSpaceOfCall(FileSpace& space, const VerifiedPool& pool) : space_(space), pool_(pool) {}
  absl::StatusOr<std::unique_ptr<pool::Reservation>> Reserve(const std::string& uuid,
                                                             Provisioning provisioning,
                                                             Bytes increment) override {
    return space_.Reserve(pool_, uuid, provisioning, increment);
  }
  void Set(const std::string& uuid, Provisioning provisioning, Bytes provisioned,
           Bytes allocated) override {
    space_.ledger().Set(uuid, provisioning, provisioned, allocated);
  }
  void Release(const std::string& uuid) override { space_.ledger().Remove(uuid); }
  void Rename(const std::string& from, const std::string& to) override {
    space_.ledger().Rename(from, to);
  }
  bool WouldFitWithout(const std::vector<std::string>& names, Provisioning provisioning,
                       Bytes increment) override {
    return space_.WouldFitWithout(pool_, names, provisioning, increment);
  }
  bool Has(const std::string& uuid, Provisioning provisioning, Bytes provisioned) override {
    return space_.ledger().ProvisionedTo(uuid, provisioning) == provisioned;
  }

 private:
  FileSpace& space_;
  const VerifiedPool& pool_;
};

}  // namespace holdfast::file
