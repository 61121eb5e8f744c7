// SPDX-License-Identifier: Apache-2.0
// A pool whose storage may not be there yet: its disk is not mounted, is another one, is read-only,
// fails, or does not answer at all. The process serves its other pools in the meantime.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "pool/pool.h"

namespace holdfast::pool {

// Tries to open the pool on a thread of its own, again and again until it succeeds; from then on
// every call goes to that pool. Until then calls are UNAVAILABLE with the reason, except
// UnmapDevice, which needs no pool, so that pods can go. Thread-safe.
class AwaitedPool final : public Pool {
 public:
  struct Source {
    // Opens the pool. `first` is true only for the first attempt, which may make a new pool. May
    // take any time. Its state outlives the attempt even if that never ends.
    std::function<absl::StatusOr<std::unique_ptr<Pool>>(bool first)> open;
    std::function<absl::Status(const VolumeId&)> detach;  // while the pool is not open
  };
  struct Times {
    std::chrono::milliseconds start{10'000};  // that a start waits for the first attempt
    std::chrono::milliseconds retry{2'000};   // between attempts
    std::chrono::milliseconds check{250};     // that CheckReady waits for the pool's answer
  };

  // `known` describes the pool before it is open; its id is empty if it was never
  // served with this state directory.
  AwaitedPool(PoolInfo known, Source source, Times times);
  AwaitedPool(PoolInfo known, Source source)
      : AwaitedPool(std::move(known), std::move(source), Times()) {}
  AwaitedPool(const AwaitedPool&) = delete;
  AwaitedPool& operator=(const AwaitedPool&) = delete;
  // Ends the attempts. One that is under way is left to itself: it may never end.
  ~AwaitedPool() override;

  [[nodiscard]] const PoolInfo& info() const override;

  // Waits for the first attempt, Times::start at most. INVALID_ARGUMENT and ABORTED are those of
  // `open`.
  [[nodiscard]] absl::Status WaitUntilOpened() override;

  // Waits, no longer than that either, until its volumes are counted. Always OK.
  [[nodiscard]] absl::Status Recover() override;

  // Asks the pool on the thread of its own; UNAVAILABLE if it does not answer soon.
  // The pool itself once it is open, so that a call passes through this only once.
  [[nodiscard]] absl::StatusOr<Pool*> WithCredentials(const Secrets& secrets) override;
  [[nodiscard]] absl::Status CheckReady() override;

  [[nodiscard]] absl::StatusOr<std::vector<Leftover>> FindLeftovers() override;
  [[nodiscard]] absl::StatusOr<bool> Repair(const VolumeId& id) override;
  [[nodiscard]] VolumeId IdForName(const std::string& name) const override;
  [[nodiscard]] absl::StatusOr<Volume> Create(const VolumeSpec& spec) override;
  [[nodiscard]] absl::StatusOr<std::unique_ptr<MemberCut>> BeginCut(
      const VolumeSpec& spec) override;
  [[nodiscard]] absl::StatusOr<bool> EndMember(const VolumeId& id, const std::string& group,
                                               bool keep) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> MembersOf(const std::string& group) override;
  [[nodiscard]] std::vector<Volume> Undecided() override;
  [[nodiscard]] absl::StatusOr<SnapshotUse> GetSnapshotUse(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Bytes> AllocatedTo(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Content> DescribeContent(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::unique_ptr<ContentReader>> ReadContent(
      const VolumeId& id) override;
  [[nodiscard]] absl::Status KeepHeld(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<RangePage> FindRanges(const VolumeId& snapshot,
                                                     const std::optional<VolumeId>& base,
                                                     Bytes offset) override;
  [[nodiscard]] absl::StatusOr<std::unique_ptr<ImageWriter>> WriteContent(
      const VolumeId& id, const std::string& version) override;
  [[nodiscard]] absl::Status NoteArrived(const VolumeId& id, const std::string& arrival,
                                         Bytes to) override;
  [[nodiscard]] absl::Status FinishArrival(const VolumeId& id, const std::string& arrival) override;
  [[nodiscard]] absl::Status Delete(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Volume> Get(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> List(const std::string& after_uuid,
                                                         std::size_t limit) override;
  [[nodiscard]] absl::StatusOr<std::vector<UnfinishedVolume>> ListUnfinished() override;
  [[nodiscard]] absl::Status DeleteSnapshot(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Volume> GetSnapshot(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> ListSnapshots(const std::string& after_uuid,
                                                                  std::size_t limit) override;
  [[nodiscard]] absl::StatusOr<std::vector<TrashEntry>> ListTrash() override;
  [[nodiscard]] absl::StatusOr<Volume> RestoreTrash(const TrashId& id) override;
  [[nodiscard]] absl::Status PurgeTrash(const TrashId& id) override;
  [[nodiscard]] absl::StatusOr<bool> TendTrash(const TrashId& id) override;
  [[nodiscard]] absl::StatusOr<Volume> Grow(const VolumeId& id, Bytes required,
                                            Bytes limit) override;
  [[nodiscard]] absl::StatusOr<PoolCapacity> GetCapacity(Provisioning provisioning) override;
  [[nodiscard]] absl::StatusOr<PoolUsage> GetUsage() override;
  [[nodiscard]] VolumeCondition Condition(const Volume& volume) override;
  [[nodiscard]] absl::Status PublishTo(const VolumeId& id, const std::string& node,
                                       AccessMode mode) override;
  [[nodiscard]] absl::Status UnpublishFrom(const VolumeId& id, const std::string& node) override;
  [[nodiscard]] absl::StatusOr<os::BlockDevice> MapDevice(const VolumeId& id,
                                                          AccessMode mode) override;
  [[nodiscard]] absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const VolumeId& id) override;
  [[nodiscard]] absl::Status UnmapDevice(const VolumeId& id) override;
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
  struct Keeper;  // the thread and what it shares with the calls

  // The pool; UNAVAILABLE with the reason while it is not open.
  [[nodiscard]] absl::StatusOr<Pool*> Opened() const;

  const std::shared_ptr<Keeper> keeper_;
  std::thread thread_;
};

}  // namespace holdfast::pool
