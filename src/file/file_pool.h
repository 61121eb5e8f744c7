// SPDX-License-Identifier: Apache-2.0
// Volumes as image files in a directory on any filesystem, attached as loop devices.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>

#include "file/copy_rate.h"
#include "file/digest_table.h"
#include "file/file_space.h"
#include "file/image_devices.h"
#include "file/pool_directory.h"
#include "file/record_store.h"
#include "file/wanted_digests.h"
#include "os/host_filesystem.h"
#include "os/unique_fd.h"
#include "pool/pool.h"
#include "pool/quiesce.h"
#include "pool/trash.h"
#include "pool/volume_record.h"

namespace holdfast::file {

// The key of a pool for the sector size of its new volumes.
inline constexpr std::string_view kSectorSizeKey = "sectorSize";
// What the keys say of it: 512 or 4096, nothing if they leave it open. INVALID_ARGUMENT otherwise.
[[nodiscard]] absl::StatusOr<std::optional<std::uint32_t>> ParseSectorSize(const PoolKeys& keys);

// The sector size of new volumes if the keys leave it open.
[[nodiscard]] std::uint32_t BestSectorSize(bool shares_blocks,
                                           const os::DirectIoSupport& direct_io);

class FilePool final : public pool::Pool {
 public:
  // Opens the pool, making it on first use if it may (see PoolDirectory::Open for the errors).
  // Without `quiesce`, mounted volumes are copied without holding back their writers.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<FilePool>> Open(const PoolConfig& config,
                                                                      const std::string& node_id,
                                                                      int state_directory_fd,
                                                                      pool::Quiesce quiesce = {},
                                                                      bool may_make = true);

  [[nodiscard]] const pool::PoolInfo& info() const override { return info_; }
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
  [[nodiscard]] absl::StatusOr<std::vector<pool::UnfinishedVolume>> ListUnfinished() override;
  [[nodiscard]] absl::Status DeleteSnapshot(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Volume> GetSnapshot(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> ListSnapshots(const std::string& after_uuid,
                                                                  std::size_t limit) override;
  [[nodiscard]] absl::StatusOr<std::unique_ptr<pool::MemberCut>> BeginCut(
      const VolumeSpec& spec) override;
  [[nodiscard]] absl::StatusOr<std::vector<pool::TrashEntry>> ListTrash() override;
  [[nodiscard]] absl::StatusOr<Volume> RestoreTrash(const TrashId& id) override;
  [[nodiscard]] absl::Status PurgeTrash(const TrashId& id) override;
  [[nodiscard]] absl::StatusOr<bool> TendTrash(const TrashId& id) override;
  [[nodiscard]] absl::StatusOr<bool> EndMember(const VolumeId& id, const std::string& group,
                                               bool keep) override;
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> MembersOf(const std::string& group) override;
  [[nodiscard]] std::vector<Volume> Undecided() override;
  [[nodiscard]] absl::StatusOr<pool::SnapshotUse> GetSnapshotUse(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Bytes> AllocatedTo(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<Content> DescribeContent(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::unique_ptr<ContentReader>> ReadContent(
      const VolumeId& id) override;
  [[nodiscard]] absl::Status KeepHeld(const VolumeId& id) override;
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
  [[nodiscard]] VolumeCondition Condition(const Volume& volume) override;
  // Nothing is recorded: the volume is on its node and on no other.
  [[nodiscard]] absl::Status PublishTo(const VolumeId& id, const std::string& node,
                                       AccessMode mode) override;
  [[nodiscard]] absl::Status UnpublishFrom(const VolumeId&, const std::string&) override {
    return absl::OkStatus();
  }
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
  [[nodiscard]] absl::Status ZeroVolume(const VolumeId& id) override;
  [[nodiscard]] absl::StatusOr<std::string> FormattedUuid(const VolumeId& id) override;

 private:
  struct Policies {
    pool::SpacePolicy space;
    pool::TrashPolicy trash;
  };
  FilePool(pool::PoolInfo info, const Policies& policies, PoolDirectory directory,
           const os::DirectIoSupport& direct_io, std::string tag, pool::Quiesce quiesce)
      : info_(std::move(info)),
        quiesce_(std::move(quiesce)),
        directory_(std::move(directory)),
        devices_(std::move(tag), direct_io.direct_io),
        space_(info_.name, policies.space),
        trash_(policies.trash) {}

  struct Call;
  class Member;
  // A complete snapshot. Its bytes can be read on when it is deleted.
  struct OpenSnapshot {
    pool::VolumeRecord record;
    os::UniqueFd image;
  };
  [[nodiscard]] absl::StatusOr<OpenSnapshot> Open(const VolumeId& snapshot);
  [[nodiscard]] absl::Status DeleteAs(VolumeRole role, const VolumeId& id);
  // Whether an image may share blocks with another one of the pool.
  [[nodiscard]] bool HasCopies() const { return records_.HasCopies() || trash_.HasCopies(); }
  // file_pool_trash.cc
  [[nodiscard]] absl::Status CountTrash(const VerifiedPool& pool);
  [[nodiscard]] absl::Status FindUntended(const VerifiedPool& pool,
                                          std::vector<Leftover>& leftovers) const;
  [[nodiscard]] TrashId IdOfKey(const std::string& key) const;
  [[nodiscard]] std::string ProblemOf(const VerifiedPool& pool, const Volume& volume, int image,
                                      Bytes size, Bytes allocated) const;
  // file_pool_ranges.cc
  [[nodiscard]] absl::StatusOr<pool::RangePage> Compare(const OpenSnapshot& earlier,
                                                        const OpenSnapshot& target, Bytes offset);
  [[nodiscard]] absl::StatusOr<pool::RangePage> CompareImages(const VerifiedPool& pool,
                                                              const OpenSnapshot& earlier,
                                                              const OpenSnapshot& target,
                                                              Bytes common, Bytes offset);
  [[nodiscard]] absl::StatusOr<pool::RangePage> CompareWithDeleted(const VolumeId& base,
                                                                   const absl::Status& deleted,
                                                                   const OpenSnapshot& target,
                                                                   Bytes offset);
  [[nodiscard]] absl::StatusOr<pool::RangePage> CompareWithTable(const VerifiedPool& pool,
                                                                 DigestTable& base,
                                                                 const OpenSnapshot& target,
                                                                 Bytes common, Bytes offset);
  // file_pool_digests.cc
  [[nodiscard]] absl::StatusOr<std::optional<DigestTable>> OpenDigests(
      const VerifiedPool& pool, const OpenSnapshot& snapshot);
  // Has another one made of a snapshot whose table is damaged.
  void ReplaceIfDamaged(const VerifiedPool& pool, const OpenSnapshot& snapshot,
                        const std::optional<DigestTable>& table);
  struct Donor;
  [[nodiscard]] std::optional<Donor> FindDonor(const VerifiedPool& pool,
                                               const OpenSnapshot& snapshot);
  [[nodiscard]] absl::StatusOr<bool> ContinueDigests(const VerifiedPool& pool,
                                                     const VolumeId& snapshot, Bytes& reached);
  // Whether its table of digests is not wanted any more.
  [[nodiscard]] absl::StatusOr<bool> MakeDigests(const VerifiedPool& pool,
                                                 const VolumeId& snapshot);
  // Whether there were tables of deleted snapshots that nothing needs.
  [[nodiscard]] absl::StatusOr<bool> RemoveUnneededTables(const VerifiedPool& pool);
  [[nodiscard]] std::vector<Volume> ListOf(VolumeRole role, const std::string& after_uuid,
                                           std::size_t limit) const;
  [[nodiscard]] VolumeId IdOfUuid(const std::string& uuid) const;
  Volume WithPool(Volume volume) const;

  const pool::PoolInfo info_;
  const pool::Quiesce quiesce_;
  const PoolDirectory directory_;
  RecordStore records_;
  ImageDevices devices_;
  FileSpace space_;
  pool::Trash trash_;
  CopyRate copy_rate_;
  WantedDigests wanted_digests_;
  std::atomic<Bytes> unshared_{0};
};

}  // namespace holdfast::file
