// SPDX-License-Identifier: Apache-2.0
// Volumes as RBD images of a Ceph cluster, attached by the kernel's client. Their records are in
// the cluster (RecordTable), so every process that reaches it, controller or node, sees the same.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/semaphore.h"
#include "os/unique_fd.h"
#include "pool/pool_kind.h"
#include "pool/trash.h"
#include "rbd/ceph_access.h"
#include "rbd/ceph_pool.h"
#include "rbd/freed_room.h"
#include "rbd/image.h"
#include "rbd/image_flattening.h"
#include "rbd/monitor_answers.h"
#include "rbd/rbd_device.h"
#include "rbd/record_table.h"

namespace holdfast::rbd {

// Besides what Pool says: nothing is known about volumes of another Ceph pool, so that no
// call says that it is gone (FAILED_PRECONDITION). Only nodes that can share a volume have it as a
// device at once. MapDevice names another one that has it (FAILED_PRECONDITION), and takes it over
// only from one whose client is gone, which it fences first. Readers' devices are read-only for
// good, and neither format nor repair a filesystem (FAILED_PRECONDITION).
class RbdPool final : public pool::Pool {
 public:
  // Does not connect: an unreachable cluster at the start is not a reason to refuse the other
  // pools. FAILED_PRECONDITION when Ceph's library or the user's key is missing.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<RbdPool>> Open(
      const PoolConfig& config, const pool::Process& process, std::shared_ptr<Clusters> clusters);

  [[nodiscard]] const pool::PoolInfo& info() const override { return info_; }
  // For a pool that is configured without a user: one pool per user and key.
  [[nodiscard]] absl::StatusOr<Pool*> WithCredentials(const Secrets& secrets) override;
  // Nothing to do: sums and volumes are in the cluster.
  [[nodiscard]] absl::Status Recover() override { return absl::OkStatus(); }
  [[nodiscard]] absl::StatusOr<std::vector<Leftover>> FindLeftovers() override;
  [[nodiscard]] absl::StatusOr<bool> Repair(const VolumeId& id) override;
  // Examines only this process: a restart does not help against an unreachable cluster.
  [[nodiscard]] absl::Status CheckReady() override;
  // Asks the cluster once: an id says which Ceph pool it is of. While that cannot be reached it is
  // one that no volume has.
  [[nodiscard]] VolumeId IdForName(const std::string& name) const override;
  [[nodiscard]] VolumeId IdForSnapshotName(const std::string& name) const override;
  // A copy of a volume that nodes have is as they have written it by then: they do not wait. So one
  // that CutOptions::must_freeze asks for is FAILED_PRECONDITION.
  [[nodiscard]] absl::StatusOr<Volume> Create(const VolumeSpec& spec) override;
  [[nodiscard]] absl::Status Delete(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Volume> Get(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> List(const std::string& after_uuid,
                                                         std::size_t limit) override;
  [[nodiscard]] absl::StatusOr<std::vector<pool::UnfinishedVolume>> ListUnfinished() override;
  // Every process lists and restores what is in the cluster. Only a controller purges
  // (FAILED_PRECONDITION elsewhere): a node's user may not remove images.
  [[nodiscard]] absl::StatusOr<std::vector<pool::TrashEntry>> ListTrash() override;
  [[nodiscard]] absl::StatusOr<Volume> RestoreTrash(const TrashId& id) override;
  [[nodiscard]] absl::Status PurgeTrash(const TrashId& id) override;
  [[nodiscard]] absl::StatusOr<bool> TendTrash(const TrashId& id) override;
  [[nodiscard]] absl::Status DeleteSnapshot(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Volume> GetSnapshot(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> ListSnapshots(const std::string& after_uuid,
                                                                  std::size_t limit) override;
  // A volume that nothing may write to is cut before any writers are held back, and is refused
  // (ABORTED) if something was written to it since. Others are cut with the rest; their writers are
  // held back if this node has the volume mounted, and can only be held back by their node
  // otherwise (BeginHold there). If that is not their only node any more when all is cut, the cut
  // is ABORTED.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<pool::MemberCut>> BeginCut(
      const VolumeSpec& spec) override;
  [[nodiscard]] absl::StatusOr<std::unique_ptr<pool::MemberCut>> BeginHold(
      const VolumeId& id, const std::string& device, const CutOptions& cut) override;
  [[nodiscard]] absl::StatusOr<bool> EndMember(const VolumeId& id, const std::string& group,
                                               bool keep) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> MembersOf(const std::string& group) override;
  [[nodiscard]] absl::StatusOr<Volume> FindUndecided(const VolumeId& id) override;
  // Of images in the cluster every process reads and writes the bytes itself. A reader ends with
  // ABORTED when its snapshot is deleted.
  [[nodiscard]] absl::StatusOr<Content> DescribeContent(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::unique_ptr<ContentReader>> ReadContent(
      const VolumeId& id) override;
  [[nodiscard]] absl::Status KeepHeld(const VolumeId& id) override;
  // FAILED_PRECONDITION, too, for snapshots of two images: a volume of that name was made again.
  [[nodiscard]] absl::StatusOr<pool::RangePage> FindRanges(const VolumeId& snapshot,
                                                           const std::optional<VolumeId>& base,
                                                           Bytes offset) override;
  [[nodiscard]] absl::StatusOr<std::unique_ptr<pool::ImageWriter>> WriteContent(
      const VolumeId& id, const std::string& version) override;
  [[nodiscard]] absl::Status NoteArrived(const VolumeId& id, const std::string& arrival,
                                         Bytes to) override;
  [[nodiscard]] absl::Status FinishArrival(const VolumeId& id, const std::string& arrival) override;
  [[nodiscard]] absl::StatusOr<Volume> Grow(const VolumeId& id, Bytes required,
                                            Bytes limit) override;
  [[nodiscard]] absl::StatusOr<PoolCapacity> GetCapacity(Provisioning provisioning) override;
  [[nodiscard]] absl::StatusOr<pool::PoolUsage> GetUsage() override;
  // Abnormal: what the cluster's health says of the pool's data (AskDataProblem); a record or image
  // that is not as it should be; an image that a client has open which no node is recorded to be; a
  // node that has the volume to write, whose client is gone. Stops at the first cluster timeout. A
  // problem is reported only if it is still present one second later.
  [[nodiscard]] VolumeCondition Condition(const Volume& volume) override;
  [[nodiscard]] std::vector<VolumeCondition> Conditions(std::span<const Volume> volumes) override;
  [[nodiscard]] absl::Status PublishTo(const VolumeId& id, const std::string& node,
                                       AccessMode mode) override;
  [[nodiscard]] absl::Status UnpublishFrom(const VolumeId& id, const std::string& node) override;
  [[nodiscard]] absl::StatusOr<os::BlockDevice> MapDevice(const VolumeId& id,
                                                          AccessMode mode) override;
  [[nodiscard]] absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const VolumeId& id) override;
  [[nodiscard]] absl::Status UnmapDevice(const VolumeId& id) override;
  // Only from the kernel, so one that another program mapped is named too; UnmapOwnDevice asks
  // the cluster whose it is.
  [[nodiscard]] absl::StatusOr<std::vector<VolumeId>> ListOwnDevices() override;
  [[nodiscard]] absl::Status UnmapOwnDevice(const VolumeId& id) override;
  [[nodiscard]] absl::Status StartFormatting(const VolumeId& id,
                                             const std::string& filesystem_uuid) override;
  [[nodiscard]] absl::Status FinishFormatting(const VolumeId& id) override;
  [[nodiscard]] absl::Status FinishAdoption(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Volume> TakeOverFilesystem(
      const VolumeId& id, const std::string& filesystem,
      const std::string& filesystem_uuid) override;
  [[nodiscard]] absl::StatusOr<std::string> FormattedUuid(const VolumeId& id) override;
  [[nodiscard]] absl::Status ZeroVolume(const VolumeId& id) override;

 private:
  friend class RbdUnderTest;  // tests/ceph/conformance.cc
  using Ceph = std::shared_ptr<CephPool>;
  // What the volume state machine works on (rbd/rbd_volumes.h).
  class Records;
  class Images;
  class Shelf;
  class Space;
  struct Call;
  class Member;
  class HeldDevice;
  // An image that librbd works on costs it most of a megabyte, which glibc does not give back; and
  // more at once are done no sooner.
  static constexpr unsigned kImagesAtOnce = 8;
  // A snapshot is made and removed in a round of the monitors, about a second, for which the image
  // is open and idle; and all that ask in time share one.
  static constexpr unsigned kSnapshotsAtOnce = 16;

  // The state that all users of the pool share.
  struct Common {
    Common(const pool::Process& process, const pool::TrashPolicy& trash_policy, os::UniqueFd known,
           std::optional<std::string> known_identity, std::shared_ptr<Clusters> connections)
        : node_id(process.node_id),
          is_controller(process.is_controller),
          has_devices(process.has_devices),
          attach(process.attach),
          boot_id(process.boot_id),
          undo_files(process.undo_files),
          quiesce(process.quiesce),
          known_pools(std::move(known)),
          clusters(std::move(connections)),
          trash(trash_policy),
          identity(std::move(known_identity)) {}

    const std::string node_id;
    const bool is_controller;
    const bool has_devices;
    const bool attach;
    const std::string boot_id;
    const state::UndoFiles& undo_files;
    const pool::Quiesce quiesce;
    const os::UniqueFd known_pools;
    const std::shared_ptr<Clusters> clusters;
    Semaphore image_permits{kImagesAtOnce};
    Semaphore snapshot_permits{kSnapshotsAtOnce};
    Semaphore look_permits{kImagesAtOnce};  // of all calls that look at images together
    ImageRemovals removals;
    ImageFlattening flattening;
    DeviceCalls device_calls;
    pool::Trash trash;  // what this process has seen of it
    FreedRoom freed;

    Mutex mutex;
    // The images' snapshots of undecided members that this process has sealed, by uuid.
    std::map<std::string, std::string> sealed ABSL_GUARDED_BY(mutex);
    std::optional<std::string> identity ABSL_GUARDED_BY(mutex);    // of the pool, once known
    std::optional<CephAccess> last_access ABSL_GUARDED_BY(mutex);  // that reached it
  };

  RbdPool(pool::PoolInfo info, CephAccess access, std::shared_ptr<Common> common)
      : info_(std::move(info)), access_(std::move(access)), common_(std::move(common)) {}

  // rbd_pool.cc
  absl::StatusOr<Ceph> Connect() const;
  absl::StatusOr<Ceph> Reach(const CephAccess& access) const;
  [[nodiscard]] std::optional<std::string> KnownIdentity() const;
  absl::StatusOr<Semaphore::Permit> TakeImagePermit();
  // For a call that makes or removes a snapshot of an image.
  absl::StatusOr<Semaphore::Permit> TakeSnapshotPermit();
  absl::StatusOr<Semaphore::Permit> TakePermit(Semaphore& permits, unsigned count) const;
  absl::StatusOr<CephAccess> PresentAccess() const;
  Ceph PresentConnection(const CephAccess& access) const;
  void Disconnect();
  absl::Status RequireKnown(const CephPoolIdentity& identity) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(common_->mutex);
  absl::StatusOr<RecordEntry> Read(const CephPool& ceph, const VolumeId& id) const;
  absl::StatusOr<RecordEntry> ReadUsable(const CephPool& ceph, const VolumeId& id) const;
  static absl::Status RequireUsable(const RecordEntry& entry, const VolumeId& id);
  absl::StatusOr<std::optional<PoolStatistics>> Statistics(const CephPool& ceph);
  // RESOURCE_EXHAUSTED if the pool has no room for so many bytes.
  absl::Status RequireRoom(const CephPool& ceph, Bytes bytes);
  [[nodiscard]] RbdImageName NameOf(const std::string& image) const;
  [[nodiscard]] Volume WithPool(Volume volume) const;
  [[nodiscard]] VolumeId WithUuid(const std::string& uuid) const;

  // Volumes or snapshots that calls have returned.
  absl::StatusOr<std::vector<Volume>> ListOf(VolumeRole role, const std::string& after_uuid,
                                             std::size_t limit);

  // rbd_pool_trash.cc
  [[nodiscard]] TrashId IdOfKey(const std::string& key) const;
  [[nodiscard]] pool::TrashUse TrashUseOf(const std::vector<pool::VolumeRecord>& trashed) const;
  // What in the trash is to be looked at: what is due, not seen yet, damaged or gone.
  void FindUntended(const RecordTable::Page& page, std::vector<Leftover>& leftovers);

  // rbd_pool_lifecycle.cc
  absl::StatusOr<VolumeSpec> Adapted(const VolumeSpec& spec) const;
  absl::Status RequireNotInUse(const CephPool& ceph, const ContentSource& source) const;

  // rbd_pool_groups.cc
  absl::StatusOr<std::unique_ptr<pool::Quiet>> Quiesce(const std::string& uuid,
                                                       const os::BlockDevice& device, bool freeze,
                                                       const CutOptions& cut) const;

  // rbd_pool_retained.cc
  // Removes what a deleted volume or snapshot has left, if that is what has the name, and nothing
  // needs it any more; and then what was left for it alone. Whether it removed anything.
  absl::StatusOr<bool> RemoveIfUnneeded(const CephPool& ceph, const std::string& name);
  absl::StatusOr<std::optional<std::vector<std::string>>> RemoveNotedImage(
      const CephPool& ceph, const std::string& image, const std::string& noted);
  // Of what is retained; `named` is what records name.
  static absl::StatusOr<std::vector<std::string>> FindUnneeded(
      const CephPool& ceph, const std::map<std::string, std::string>& retained,
      const std::set<std::string>& named);

  // rbd_pool_condition.cc
  struct Look;
  absl::StatusOr<std::string> ClusterProblem(const CephPool& ceph);
  [[nodiscard]] Look LookAt(const CephPool& ceph, const VolumeId& id) const;
  [[nodiscard]] std::vector<Look> LookAtAll(const CephPool& ceph,
                                            std::span<const Volume> volumes) const;

  // rbd_pool_attach.cc
  absl::Status RequireReadable(const pool::VolumeRecord& record, const VolumeId& id) const;
  absl::StatusOr<RbdDevice> FindOrMap(const CephPool& ceph, RecordEntry& entry, const VolumeId& id,
                                      const DeviceClaim& wanted);
  absl::StatusOr<RbdDevice> Map(const CephPool& ceph, RecordEntry& entry, const VolumeId& id,
                                const DeviceClaim& wanted);
  absl::StatusOr<RbdDevice> MapAndClaim(const CephPool& ceph, RecordEntry& entry,
                                        const VolumeId& id, const DeviceClaim& announced);

  // rbd_pool_publish.cc
  absl::Status RequirePublished(const RecordEntry& entry, const DeviceClaim& wanted) const;

  // rbd_pool_nodes.cc
  using DecideNodes = std::function<absl::StatusOr<std::optional<VolumeNodes>>(RecordEntry&)>;
  absl::Status UpdateNodes(const CephPool& ceph, const VolumeId& id, RecordEntry& entry,
                           const DecideNodes& decide) const;
  [[nodiscard]] DeviceClaim ClaimFor(AccessMode mode) const;
  absl::Status RequireUnusedAnywhere(const CephPool& ceph, const RecordEntry& entry);
  absl::StatusOr<VolumeNodes> Admit(const CephPool& ceph, RecordEntry& entry, const VolumeId& id,
                                    const DeviceClaim& wanted);
  absl::Status Announce(const CephPool& ceph, RecordEntry& entry, const VolumeId& id,
                        const DeviceClaim& wanted);
  absl::Status Claim(const CephPool& ceph, RecordEntry& entry, const VolumeId& id,
                     const DeviceClaim& announced, const std::string& client_address);
  absl::Status EndClient(const CephPool& ceph, const RecordEntry& entry,
                         const DeviceClaim& holder) const;
  [[nodiscard]] absl::Status InUse(const std::string& uuid, const DeviceClaim& holder) const;
  absl::Status Release(const VolumeId& id);

  // rbd_pool_devices.cc
  absl::StatusOr<std::vector<RbdDevice>> FindDevices(const std::string& image_prefix);
  absl::StatusOr<std::optional<RbdDevice>> FindDevice(const std::string& uuid);
  absl::StatusOr<RbdDevice> RequireHeldHere(const RecordEntry& entry);
  [[nodiscard]] bool IsClaimOf(const DeviceClaim& holder, const RbdDevice& device) const;
  [[nodiscard]] bool IsOwn(const DeviceClaim& holder) const;
  absl::Status Unmap(const RbdDevice& device);

  const pool::PoolInfo info_;
  const CephAccess access_;  // without a user: those of WithCredentials have it
  const std::shared_ptr<Common> common_;

  mutable Mutex mutex_;
  mutable Ceph ceph_ ABSL_GUARDED_BY(mutex_);               // the last connection
  mutable CephAccess ceph_access_ ABSL_GUARDED_BY(mutex_);  // whose it is
  std::map<CephAccess, std::unique_ptr<RbdPool>> users_ ABSL_GUARDED_BY(mutex_);

  RecentAnswer<std::optional<PoolStatistics>> statistics_;
  RecentAnswer<std::string> cluster_problem_;
};

// Makes the cluster refuse the holder's client for a year; the address is never used again, so that
// nothing it still has under way is written. OK without more if the holder never got as far as
// having a client.
[[nodiscard]] absl::Status Fence(Cluster& cluster, const DeviceClaim& holder);

// Whether a holder whose client does not watch the image has no client any more. A writer's client
// always watches; a reader's never does, so it counts as gone only when it was fenced.
[[nodiscard]] absl::StatusOr<bool> IsGone(Cluster& cluster, const DeviceClaim& holder);

// That the image is there and is the record's, with the size that the record says, or, while it
// grows, one up to the target. FAILED_PRECONDITION otherwise.
[[nodiscard]] absl::Status RequireImage(const std::optional<ImageFacts>& facts,
                                        const pool::VolumeRecord& record);

}  // namespace holdfast::rbd
