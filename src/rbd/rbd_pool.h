// SPDX-License-Identifier: Apache-2.0
// Volumes as RBD images of a Ceph cluster, attached by the kernel's client. Their records are in
// the cluster (Journal), so every process that reaches it, controller or node, sees the same.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "os/rbd_device.h"
#include "os/unique_fd.h"
#include "pool/pool.h"
#include "rbd/ceph_pool.h"
#include "rbd/image.h"
#include "rbd/journal.h"
#include "rbd/monitor_answers.h"

namespace holdfast::rbd {

// Besides what Pool says: at most one node has a volume as a device. Attach names the node that
// has it (FAILED_PRECONDITION), and takes it over only from one whose client is gone, which it
// fences first.
class RbdPool final : public pool::Pool {
 public:
  // Connects to nothing: a cluster that is away at the start is no reason to refuse the other
  // pools. FAILED_PRECONDITION when Ceph's library or the user's key is missing.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<RbdPool>> Open(
      const PoolConfig& config, const std::string& node_id, int state_directory_fd,
      std::shared_ptr<Clusters> clusters);

  [[nodiscard]] const pool::PoolInfo& info() const override { return info_; }
  // Nothing to do: what an earlier process left half done, the CO's repetition carries on.
  [[nodiscard]] absl::Status Recover() override { return absl::OkStatus(); }
  // None is named: what looks half done may be another process's call under way.
  [[nodiscard]] absl::StatusOr<std::vector<Leftover>> FindLeftovers() override {
    return std::vector<Leftover>();
  }
  [[nodiscard]] absl::StatusOr<bool> Settle(const VolumeId&) override { return false; }
  // Of this process alone: a cluster that is away is not mended by a restart.
  [[nodiscard]] absl::Status CheckReady() override;
  [[nodiscard]] VolumeId IdOf(const std::string& name) const override;
  [[nodiscard]] absl::StatusOr<Volume> Create(const VolumeSpec& spec) override;
  [[nodiscard]] absl::Status Delete(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Volume> Get(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> List(const std::string& after_uuid,
                                                         std::size_t limit) override;
  [[nodiscard]] absl::StatusOr<Volume> Grow(const VolumeId& id, Bytes required,
                                            Bytes limit) override;
  [[nodiscard]] absl::StatusOr<PoolCapacity> Measure(Provisioning provisioning) override;
  [[nodiscard]] absl::StatusOr<pool::PoolUsage> Usage() override;
  [[nodiscard]] VolumeCondition Condition(const Volume& volume) override;
  [[nodiscard]] absl::StatusOr<os::BlockDevice> Attach(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::optional<os::BlockDevice>> FindAttached(
      const VolumeId& id) override;
  [[nodiscard]] absl::Status Detach(const VolumeId& id) override;
  // None is named: a device that a killed process left is found by the volume's next stage.
  [[nodiscard]] absl::StatusOr<std::vector<VolumeId>> ListOwnDevices() override {
    return std::vector<VolumeId>();
  }
  [[nodiscard]] absl::Status DetachOwnDevice(const VolumeId& id) override { return Detach(id); }
  [[nodiscard]] absl::Status StartFormatting(const VolumeId& id,
                                             const std::string& filesystem_uuid) override;
  [[nodiscard]] absl::Status FinishFormatting(const VolumeId& id) override;
  [[nodiscard]] absl::Status BlankAgain(const VolumeId& id) override;

 private:
  using Ceph = std::shared_ptr<CephPool>;

  RbdPool(pool::PoolInfo info, CephAccess access, std::string node_id, os::UniqueFd known_pools,
          std::optional<std::string> identity, std::shared_ptr<Clusters> clusters)
      : info_(std::move(info)),
        access_(std::move(access)),
        node_id_(std::move(node_id)),
        known_pools_(std::move(known_pools)),
        clusters_(std::move(clusters)),
        identity_(std::move(identity)) {}

  // rbd_pool.cc
  absl::StatusOr<Ceph> Connect();
  absl::Status RequireKnown(const CephPoolIdentity& identity);
  absl::StatusOr<JournalEntry> ReadUsable(const CephPool& ceph, const VolumeId& id) const;
  absl::StatusOr<std::optional<PoolStatistics>> Statistics(const CephPool& ceph);
  // RESOURCE_EXHAUSTED if the pool has no room for so many bytes.
  absl::Status RequireRoom(const CephPool& ceph, Bytes bytes);
  [[nodiscard]] os::RbdImageName NameOf(const std::string& uuid) const;
  [[nodiscard]] Volume WithPool(Volume volume) const;

  // rbd_pool_create.cc
  absl::StatusOr<Volume> FillNewVolume(const CephPool& ceph, JournalEntry& entry);

  // rbd_pool_delete.cc
  absl::Status RequireUnusedAnywhere(const CephPool& ceph, const JournalEntry& entry);
  absl::Status FinishDeletion(const CephPool& ceph, const JournalEntry& entry);

  // rbd_pool_grow.cc
  absl::Status FinishGrowth(const CephPool& ceph, JournalEntry& entry);

  // rbd_pool_attach.cc
  absl::StatusOr<std::optional<os::RbdDevice>> FindDevice(const std::string& uuid);
  struct Attachment {
    os::RbdDevice device;
    bool mapped_now;  // by this call
  };
  absl::StatusOr<Attachment> FindOrMap(const CephPool& ceph, const JournalEntry& entry);
  absl::StatusOr<os::RbdDevice> Map(const CephPool& ceph, const JournalEntry& entry);
  absl::Status RequireFree(const CephPool& ceph, const JournalEntry& entry);
  absl::Status Claim(const CephPool& ceph, JournalEntry& entry, const os::RbdDevice& device);
  absl::StatusOr<os::RbdDevice> RequireHeldHere(const JournalEntry& entry);
  absl::Status Unmap(const os::RbdDevice& device);
  void Release(const VolumeId& id);

  const pool::PoolInfo info_;
  const CephAccess access_;
  const std::string node_id_;
  const os::UniqueFd known_pools_;
  const std::shared_ptr<Clusters> clusters_;

  std::mutex mutex_;
  Ceph ceph_;                                 // the last connection; guarded by mutex_
  std::optional<std::string> identity_;       // of the pool, once known; guarded by mutex_
  std::optional<PoolStatistics> statistics_;  // guarded by mutex_
  std::chrono::steady_clock::time_point measured_at_{};  // of statistics_; guarded by mutex_
};

// Makes the cluster refuse that client for good, so that nothing it still has under way is written.
[[nodiscard]] absl::Status Fence(Cluster& cluster, const Holder& holder);

}  // namespace holdfast::rbd
