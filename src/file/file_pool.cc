// SPDX-License-Identifier: Apache-2.0
#include "file/file_pool.h"

#include <sys/stat.h>

#include <cerrno>

#include "core/log.h"
#include "file/data_copy.h"
#include "file/digest_making.h"
#include "file/eviction.h"
#include "file/file_pool_call.h"
#include "file/image_content.h"
#include "file/image_copy.h"
#include "file/image_file.h"
#include "file/kept_digests.h"
#include "file/volume_image.h"
#include "os/file.h"
#include "pool/volume_evidence.h"

namespace holdfast::file {
namespace {

constexpr std::uint32_t kSmallSector = 512;
constexpr std::uint32_t kLargeSector = 4096;

// Eight hexadecimal digits that a pool keeps until the next boot, and that its copy in another
// directory or on another filesystem has not.
absl::StatusOr<std::string> TagOf(const std::string& pool_id, int root_fd) {
  struct stat root {};
  if (::fstat(root_fd, &root) != 0) return OsError(errno, "cannot stat the pool directory");
  ASSIGN_OR_RETURN(const std::string filesystem, os::FilesystemIdentity(root_fd));
  ASSIGN_OR_RETURN(const std::string hash,
                   UuidOfName(pool_id, fmt::format("{} {}", filesystem, root.st_ino)));
  return hash.substr(0, hash.find('-'));
}

}  // namespace

// Where files can share blocks, direct I/O to a file that does so works in whole blocks of the host
// filesystem only (xfs since Linux 6.15): a volume with smaller sectors would lose it with its
// first snapshot.
std::uint32_t BestSectorSize(bool shares_blocks, const os::DirectIoSupport& direct_io) {
  return shares_blocks ? kLargeSector : direct_io.sector_size;
}

absl::StatusOr<std::optional<std::uint32_t>> ParseSectorSize(const PoolKeys& keys) {
  const auto given = keys.find(std::string(kSectorSizeKey));
  if (given == keys.end()) return std::nullopt;
  if (given->second == "512") return kSmallSector;
  if (given->second == "4096") return kLargeSector;
  return InvalidArgument("{}='{}' must be 512 or 4096", kSectorSizeKey, given->second);
}

absl::StatusOr<std::unique_ptr<FilePool>> FilePool::Open(const PoolConfig& config,
                                                         const std::string& node_id,
                                                         int state_directory_fd,
                                                         pool::Quiesce quiesce, bool may_make) {
  Policies policies;
  ASSIGN_OR_RETURN(policies.space, pool::ParseSpacePolicy(config.keys));
  ASSIGN_OR_RETURN(policies.trash, pool::ParseTrashPolicy(config.keys));
  ASSIGN_OR_RETURN(const auto given_sectors, ParseSectorSize(config.keys));
  ASSIGN_OR_RETURN(PoolDirectory directory, PoolDirectory::Open({.name = config.name,
                                                                 .path = config.location,
                                                                 .accept_move = config.accept_move,
                                                                 .may_make = may_make},
                                                                state_directory_fd));
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory.Verify());
  ASSIGN_OR_RETURN(const os::DirectIoSupport direct_io, os::ProbeDirectIo(pool.volumes));
  ASSIGN_OR_RETURN(std::string tag, TagOf(directory.pool_id(), pool.root));
  pool::PoolInfo info{.id = directory.pool_id(),
                      .name = config.name,
                      .kind = config.kind(),
                      .location = config.location,
                      .node = node_id,
                      .default_filesystem = config.default_filesystem,
                      .topology = std::nullopt,
                      .sector_size = given_sectors.value_or(
                          BestSectorSize(os::CanShareBlocks(pool.volumes), direct_io))};
  policies.space = WithReserveForKubelet(policies.space, pool.root);
  return std::unique_ptr<FilePool>(new FilePool(std::move(info), policies, std::move(directory),
                                                direct_io, std::move(tag), std::move(quiesce)));
}

absl::Status FilePool::CheckReady() { return directory_.Verify().status(); }

VolumeId FilePool::IdForName(const std::string& name) const {
  // pool_id() was checked to be a UUID when the marker was read.
  return IdOfUuid(*UuidOfName(directory_.pool_id(), name));
}

VolumeId FilePool::IdOfUuid(const std::string& uuid) const {
  return VolumeId{info_.name, info_.node, uuid};
}

Volume FilePool::WithPool(Volume volume) const {
  volume.id = IdOfUuid(volume.id.uuid);
  return volume;
}

absl::Status FilePool::Recover() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const std::vector<std::string> uuids, RecordStore::Uuids(pool.volumes));
  Call call(*this, pool);
  for (const std::string& uuid : uuids) {
    // One damaged volume must not keep the others from their pods.
    RemoveUnfinishedTable(pool.volumes, uuid);
    const absl::Status counted = call.volumes.Count(uuid);
    if (!counted.ok()) LogError("recovery: {}", MessageOf(counted));
  }
  return CountTrash(pool);
}

absl::StatusOr<std::vector<Leftover>> FilePool::FindLeftovers() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const std::vector<std::string> trash, RecordStore::Uuids(pool.trash));
  ASSIGN_OR_RETURN(const std::vector<std::string> uuids, RecordStore::Uuids(pool.volumes));
  Call call(*this, pool);
  std::vector<Leftover> leftovers;
  const auto add = [&](LeftoverKind kind, const std::string& uuid) {
    leftovers.push_back({kind, IdOfUuid(uuid).ToString()});
  };
  for (const std::string& uuid : trash) add(LeftoverKind::kTrash, uuid);
  for (const std::string& uuid : uuids) {
    if (const auto kind = call.volumes.FindLeftover(uuid)) add(*kind, uuid);
  }
  RETURN_IF_ERROR(FindUntended(pool, leftovers));
  for (const std::string& uuid : wanted_digests_.Uuids()) add(LeftoverKind::kMissingDigests, uuid);
  const auto unneeded = FindUnneededTables(pool.root, records_.VolumesOfAnyUse());
  if (!unneeded.ok() || HasEmptyTableDirectory(pool.root)) {  // if it fails, Repair says why
    add(LeftoverKind::kUnneededDigests, info_.id);
  }
  for (const KeptTable& table : unneeded.value_or(std::vector<KeptTable>())) {
    add(LeftoverKind::kUnneededDigests, table.snapshot);
  }
  return leftovers;
}

absl::StatusOr<bool> FilePool::Repair(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const bool repaired, Call(*this, pool).volumes.Repair(id));
  if (wanted_digests_.Find(id.uuid)) return MakeDigests(pool, id);
  if (repaired) return true;
  const auto removed = RemoveUnneededTables(pool);
  // The tables' directory is of no importance to a volume or snapshot that is repaired.
  return removed.ok() || id.uuid == info_.id ? removed : false;
}

absl::StatusOr<Volume> FilePool::Create(const VolumeSpec& spec) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(
      const pool::VolumeRecord record,
      Call(*this, pool, spec.cut).volumes.Create(spec, IdForSpec(spec), info_.sector_size));
  return WithPool(record.volume);
}

absl::Status FilePool::Delete(const VolumeId& id) { return DeleteAs(VolumeRole::kVolume, id); }

// What was kept for comparisons may go with it. The reconciler removes what could not be removed.
absl::Status FilePool::DeleteAs(VolumeRole role, const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  RETURN_IF_ERROR(Call(*this, pool).volumes.Delete(id, role));
  const auto removed = RemoveUnneededTables(pool);
  if (!removed.ok())
    LogWarning("after the deletion of {}: {}", id.uuid, MessageOf(removed.status()));
  return absl::OkStatus();
}

absl::StatusOr<Volume> FilePool::Get(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record, Call(*this, pool).volumes.Get(id));
  return WithPool(record.volume);
}

absl::StatusOr<std::vector<Volume>> FilePool::List(const std::string& after_uuid,
                                                   std::size_t limit) {
  return ListOf(VolumeRole::kVolume, after_uuid, limit);
}

absl::Status FilePool::DeleteSnapshot(const VolumeId& id) {
  return DeleteAs(VolumeRole::kSnapshot, id);
}

absl::StatusOr<Volume> FilePool::GetSnapshot(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, pool).volumes.Get(id, VolumeRole::kSnapshot));
  return WithPool(record.volume);
}

absl::StatusOr<std::vector<Volume>> FilePool::ListSnapshots(const std::string& after_uuid,
                                                            std::size_t limit) {
  return ListOf(VolumeRole::kSnapshot, after_uuid, limit);
}

absl::StatusOr<pool::SnapshotUse> FilePool::GetSnapshotUse(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, pool).volumes.Get(id, VolumeRole::kSnapshot));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImageToRead(pool.volumes, record));
  pool::SnapshotUse use;
  ASSIGN_OR_RETURN(use.occupied, ImageAllocated(image.get()));
  ASSIGN_OR_RETURN(const Bytes own, OwnBytes(image.get()));
  use.shared = use.occupied - own;
  use.copied_to = record.copy ? record.copy->copied_to : record.volume.capacity_bytes;
  return use;
}

absl::StatusOr<FilePool::OpenSnapshot> FilePool::Open(const VolumeId& snapshot) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(pool::VolumeRecord record, Call(*this, pool).volumes.GetContent(snapshot));
  ASSIGN_OR_RETURN(os::UniqueFd image, OpenVolumeImageToRead(pool.volumes, record));
  return OpenSnapshot{.record = std::move(record), .image = std::move(image)};
}

absl::StatusOr<Content> FilePool::DescribeContent(const VolumeId& id) {
  ASSIGN_OR_RETURN(const OpenSnapshot opened, Open(id));
  const Volume& snapshot = opened.record.volume;
  Content content{.capacity_bytes = snapshot.capacity_bytes,
                  .sector_size = opened.record.sector_size,
                  .access_type = snapshot.access_type,
                  .filesystem = snapshot.filesystem,
                  .inherited_uuids = snapshot.inherited_uuids,
                  .version = {}};
  ASSIGN_OR_RETURN(content.version, IdentityOf(opened.image.get()));
  ASSIGN_OR_RETURN(content.data_bytes, DataBytes(opened.image.get(), snapshot.capacity_bytes));
  return content;
}

absl::StatusOr<std::unique_ptr<ContentReader>> FilePool::ReadContent(const VolumeId& id) {
  ASSIGN_OR_RETURN(OpenSnapshot opened, Open(id));
  return NewImageReader(std::move(opened.image), opened.record.volume.capacity_bytes);
}

absl::Status FilePool::KeepHeld(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.KeepHeld(id);
}

absl::StatusOr<std::unique_ptr<pool::ImageWriter>> FilePool::WriteContent(
    const VolumeId& id, const std::string& version) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, pool).volumes.GetArriving(id, version));
  ASSIGN_OR_RETURN(os::UniqueFd image, OpenVolumeImage(pool.volumes, record));
  return NewImageWriter(std::move(image), *record.copy);
}

absl::Status FilePool::NoteArrived(const VolumeId& id, const std::string& arrival, Bytes to) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.NoteArrived(id, arrival, to);
}

absl::Status FilePool::FinishArrival(const VolumeId& id, const std::string& arrival) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.FinishArrival(id, arrival);
}

std::vector<Volume> FilePool::ListOf(VolumeRole role, const std::string& after_uuid,
                                     std::size_t limit) const {
  std::vector<Volume> volumes = records_.List(role, after_uuid, limit);
  for (Volume& volume : volumes) volume = WithPool(std::move(volume));
  return volumes;
}

absl::StatusOr<Volume> FilePool::Grow(const VolumeId& id, Bytes required, Bytes limit) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, pool).volumes.Grow(id, required, limit));
  return WithPool(record.volume);
}

absl::StatusOr<PoolCapacity> FilePool::GetCapacity(Provisioning provisioning) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return space_.Capacity(pool, provisioning);
}

VolumeCondition FilePool::Condition(const Volume& volume) {
  const auto abnormal = [](std::string message) {
    return VolumeCondition{true, std::move(message)};
  };
  const auto pool = directory_.Verify();
  if (!pool.ok()) return abnormal(MessageOf(pool.status()));
  const auto directory = os::OpenDirectoryAt(pool->volumes, volume.id.uuid);
  if (!directory.ok()) return abnormal(MessageOf(directory.status()));
  const auto image = OpenImage(directory->get());
  if (!image.ok()) return abnormal(MessageOf(image.status()));
  const auto size = ImageSize(image->get());
  const auto allocated = ImageAllocated(image->get());
  if (!size.ok() || !allocated.ok()) return abnormal("the image cannot be examined");
  const std::string problem = ProblemOf(*pool, volume, image->get(), *size, *allocated);
  return {!problem.empty(), problem.empty() ? "the storage is intact" : problem, *allocated};
}

// Of an image of these bytes; empty if it is intact.
std::string FilePool::ProblemOf(const VerifiedPool& pool, const Volume& volume, int image,
                                Bytes size, Bytes allocated) const {
  if (size < volume.capacity_bytes) {
    return fmt::format("the image has {} bytes, the volume has {}: it was truncated", size,
                       volume.capacity_bytes);
  }
  if (size > volume.capacity_bytes) {  // a growth is under way, or its record is an old one
    const auto record = RecordStore::Read(pool.volumes, volume.id.uuid);
    ImageBytes bytes(pool.volumes);
    const absl::Status fits = record.ok() ? pool::RequireSize(bytes, *record) : record.status();
    if (!fits.ok()) return MessageOf(fits);
  }
  if (volume.provisioning == Provisioning::kThick && allocated < volume.capacity_bytes) {
    return fmt::format("{} of the thick volume is not allocated; staging it refills them",
                       FormatBytes(volume.capacity_bytes - allocated));
  }
  if (volume.provisioning == Provisioning::kThick) {
    const std::string why = WhyNotThick(image, HasCopies());
    if (why.empty()) return "";
    return fmt::format(
        "the volume is not thick any more: {}, so an overwrite needs new space; 'Moving a pool' in "
        "docs/operations.md says how to repair it",
        why);
  }
  if (allocated < volume.capacity_bytes && FileSpace::IsFull(pool)) {
    return "the filesystem that carries the pool is full: writes to this thin volume may fail "
           "where they need new space; free room there";
  }
  return "";
}

absl::Status FilePool::PublishTo(const VolumeId& id, const std::string& node, AccessMode) {
  RETURN_IF_ERROR(Get(id).status());
  if (node == info().node) return absl::OkStatus();
  return FailedPrecondition("volume '{}' is on node '{}' and cannot be published to '{}'",
                            id.ToString(), info().node, node);
}

absl::StatusOr<os::BlockDevice> FilePool::MapDevice(const VolumeId& id, AccessMode) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.Map(id);
}

absl::StatusOr<std::optional<os::BlockDevice>> FilePool::FindDevice(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return devices_.Find(pool.volumes, id.uuid);
}

absl::Status FilePool::UnmapDevice(const VolumeId& id) {
  const auto pool = directory_.Verify();
  return pool.ok() ? devices_.Unmap(pool->volumes, id.uuid) : devices_.UnmapUnreachable(id.uuid);
}

absl::StatusOr<std::vector<VolumeId>> FilePool::ListOwnDevices() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  std::vector<VolumeId> ids;
  for (const std::string& uuid : devices_.List(pool.volumes)) ids.push_back(IdOfUuid(uuid));
  return ids;
}

absl::Status FilePool::UnmapOwnDevice(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return devices_.UnmapAbandoned(pool.volumes, id.uuid);
}

absl::Status FilePool::StartFormatting(const VolumeId& id, const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.StartFormatting(id, filesystem_uuid);
}

absl::Status FilePool::FinishFormatting(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.FinishFormatting(id);
}

absl::StatusOr<Volume> FilePool::TakeOverFilesystem(const VolumeId& id,
                                                    const std::string& filesystem,
                                                    const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, pool).volumes.TakeOver(id, filesystem, filesystem_uuid));
  return WithPool(record.volume);
}

absl::Status FilePool::FinishAdoption(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.FinishAdoption(id);
}

absl::StatusOr<std::string> FilePool::FormattedUuid(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.FormattedUuid(id);
}

absl::Status FilePool::ZeroVolume(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.Zero(id);
}

}  // namespace holdfast::file
