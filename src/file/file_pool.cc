// SPDX-License-Identifier: Apache-2.0
#include "file/file_pool.h"

#include <sys/stat.h>

#include <cerrno>

#include "core/log.h"
#include "file/data_copy.h"
#include "file/file_volumes.h"
#include "file/image_content.h"
#include "file/image_copy.h"
#include "file/image_file.h"
#include "file/volume_image.h"
#include "os/file.h"
#include "pool/volume_evidence.h"
#include "pool/volume_lifecycle.h"

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

// Where files can share blocks, direct I/O to a file that does so works in whole blocks of the host
// filesystem only (xfs since Linux 6.15): a volume with smaller sectors would lose it with its
// first snapshot.
std::uint32_t BestSectorSize(int volumes_fd, const os::DirectIoSupport& direct_io) {
  return os::CanShareBlocks(volumes_fd) ? kLargeSector : direct_io.sector_size;
}

}  // namespace

absl::StatusOr<std::optional<std::uint32_t>> ParseSectorSize(const PoolKeys& keys) {
  const auto given = keys.find(std::string(kSectorSizeKey));
  if (given == keys.end()) return std::nullopt;
  if (given->second == "512") return kSmallSector;
  if (given->second == "4096") return kLargeSector;
  return InvalidArgument("{}='{}' must be 512 or 4096", kSectorSizeKey, given->second);
}

// What the state machine works on in one call; `pool` must outlive it.
struct FilePool::Call {
  Call(FilePool& owner, const VerifiedPool& pool, const CutOptions& cut = {})
      : records(owner.records_, pool),
        backend(owner.devices_, pool,
                {.quiesce = [&owner](const std::string& uuid, const os::BlockDevice& device,
                                     const CutOptions& options)
                     -> absl::StatusOr<std::unique_ptr<pool::Quiet>> {
                   if (!owner.quiesce_) return nullptr;
                   return owner.quiesce_(owner.IdOfUuid(uuid), device, options);
                 },
                 .rate = owner.copy_rate_,
                 .cut = cut},
                owner.records_.HasCopies()),
        space(owner.space_, pool),
        volumes(records, backend, space) {}
  FileRecords records;
  FileBackend backend;
  FileSpaceOfCall space;
  pool::VolumeLifecycle volumes;
};

absl::StatusOr<std::unique_ptr<FilePool>> FilePool::Open(const PoolConfig& config,
                                                         const std::string& node_id,
                                                         int state_directory_fd,
                                                         pool::Quiesce quiesce, bool may_make) {
  ASSIGN_OR_RETURN(const pool::SpacePolicy policy, pool::ParseSpacePolicy(config.keys));
  ASSIGN_OR_RETURN(const auto given_sectors, ParseSectorSize(config.keys));
  ASSIGN_OR_RETURN(PoolDirectory directory, PoolDirectory::Open({.name = config.name,
                                                                 .path = config.location,
                                                                 .accept_move = config.accept_move,
                                                                 .may_make = may_make},
                                                                state_directory_fd));
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory.Verify());
  ASSIGN_OR_RETURN(const os::DirectIoSupport direct_io, os::ProbeDirectIo(pool.volumes));
  ASSIGN_OR_RETURN(std::string tag, TagOf(directory.pool_id(), pool.root));
  pool::PoolInfo info{
      .id = directory.pool_id(),
      .name = config.name,
      .kind = config.kind(),
      .location = config.location,
      .node = node_id,
      .default_filesystem = config.default_filesystem,
      .topology = std::nullopt,
      .sector_size = given_sectors.value_or(BestSectorSize(pool.volumes, direct_io))};
  return std::unique_ptr<FilePool>(new FilePool(std::move(info), policy, std::move(directory),
                                                direct_io, std::move(tag), std::move(quiesce)));
}

absl::Status FilePool::CheckReady() { return directory_.Verify().status(); }

VolumeId FilePool::IdForName(const std::string& name) const {
  // pool_id() was checked to be a UUID when the marker was read.
  return IdOfUuid(*UuidOfName(directory_.pool_id(), name));
}

VolumeId FilePool::IdForSpec(const VolumeSpec& spec) const {
  return spec.role == VolumeRole::kSnapshot ? IdForSnapshotName(spec.name) : IdForName(spec.name);
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
    const absl::Status counted = call.volumes.Count(uuid);
    if (!counted.ok()) LogError("recovery: {}", MessageOf(counted));
  }
  return absl::OkStatus();
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
  return leftovers;
}

absl::StatusOr<bool> FilePool::Repair(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.Repair(id);
}

absl::StatusOr<Volume> FilePool::Create(const VolumeSpec& spec) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(
      const pool::VolumeRecord record,
      Call(*this, pool, spec.cut).volumes.Create(spec, IdForSpec(spec), info_.sector_size));
  return WithPool(record.volume);
}

absl::Status FilePool::Delete(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.Delete(id);
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
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.Delete(id, VolumeRole::kSnapshot);
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

absl::StatusOr<Content> FilePool::DescribeContent(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record, Call(*this, pool).volumes.GetContent(id));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImageToRead(pool.volumes, record));
  const Volume& snapshot = record.volume;
  Content content{.capacity_bytes = snapshot.capacity_bytes,
                  .sector_size = record.sector_size,
                  .access_type = snapshot.access_type,
                  .filesystem = snapshot.filesystem,
                  .inherited_uuids = snapshot.inherited_uuids,
                  .version = {}};
  ASSIGN_OR_RETURN(content.version, IdentityOf(image.get()));
  ASSIGN_OR_RETURN(content.data_bytes, DataBytes(image.get(), snapshot.capacity_bytes));
  return content;
}

absl::StatusOr<std::unique_ptr<ContentReader>> FilePool::ReadContent(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record, Call(*this, pool).volumes.GetContent(id));
  ASSIGN_OR_RETURN(os::UniqueFd image, OpenVolumeImageToRead(pool.volumes, record));
  return NewImageReader(std::move(image), record.volume.capacity_bytes);
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

absl::StatusOr<pool::PoolUsage> FilePool::GetUsage() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(pool::PoolUsage usage, space_.Usage(pool));
  usage.volumes = records_.Count(VolumeRole::kVolume);
  return usage;
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
  if (*size < volume.capacity_bytes) {
    return abnormal(fmt::format("the image has {} bytes, the volume has {}: it was truncated",
                                *size, volume.capacity_bytes));
  }
  if (*size > volume.capacity_bytes) {  // a growth is under way, or its record is an old one
    const auto record = RecordStore::Read(pool->volumes, volume.id.uuid);
    ImageBytes bytes(pool->volumes);
    const absl::Status fits = record.ok() ? pool::RequireSize(bytes, *record) : record.status();
    if (!fits.ok()) return abnormal(MessageOf(fits));
  }
  if (volume.provisioning == Provisioning::kThick && *allocated < volume.capacity_bytes) {
    return abnormal(fmt::format("{} of the thick volume is not allocated; staging it refills them",
                                FormatBytes(volume.capacity_bytes - *allocated)));
  }
  if (volume.provisioning == Provisioning::kThick) {
    const std::string why = WhyNotThick(image->get(), records_.HasCopies());
    if (!why.empty()) {
      return abnormal(fmt::format(
          "the volume is not thick any more: {}, so an overwrite needs new space; 'Moving a pool' "
          "in docs/operations.md says how to repair it",
          why));
    }
  } else if (*allocated < volume.capacity_bytes && FileSpace::IsFull(*pool)) {
    return abnormal(
        "the filesystem that carries the pool is full: writes to this thin volume may fail where "
        "they need new space; free room there");
  }
  return VolumeCondition{false, "the storage is intact"};
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
