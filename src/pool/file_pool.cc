// SPDX-License-Identifier: Apache-2.0
// What the parts of the file pool share, and its questions that change nothing.
#include "pool/file_pool.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "os/file.h"
#include "pool/image_evidence.h"
#include "pool/image_file.h"

namespace holdfast::pool {
namespace {

// Counting what thin images have allocated takes some 10 us for each, so it is not to take more
// than this part of the time where the room changes all the time.
constexpr int kCountingShare = 100;

// A directory, an image, a record and its temporary file.
constexpr std::int64_t kInodesOfVolume = 4;

// btrfs has no fixed number of inodes and reports none.
bool LacksInodes(const os::FilesystemSpace& space) {
  return space.inodes_total != 0 && space.inodes_available < kInodesOfVolume;
}

Room RoomOf(const os::FilesystemSpace& space) {
  // Allocating also takes some blocks for the filesystem's own description of the image.
  const Bytes slack = std::min(space.total / 1024 + 4 * kMiB, kGiB);
  return {.total = space.total, .available = std::max<Bytes>(0, space.available - slack)};
}

// A filesystem that is full shows some blocks as available and does not give them; promises leave
// more than this (RoomOf).
constexpr Bytes kNoRoom = kMiB;

// By what the host's filesystem has left for anyone. One that has kept some for root may give that.
bool IsFull(int root_fd) {
  const auto space = os::MeasureFilesystem(root_fd);
  return space.ok() && space->available < kNoRoom;
}

// For the questions, which are answered with 0 where a promise is refused.
Room PromisableRoom(const os::FilesystemSpace& space) {
  return LacksInodes(space) ? Room{.total = space.total, .available = 0} : RoomOf(space);
}

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

absl::StatusOr<std::unique_ptr<FilePool>> FilePool::Open(const PoolConfig& config,
                                                         const std::string& node_id,
                                                         int state_directory_fd, bool may_make) {
  ASSIGN_OR_RETURN(PoolDirectory directory, PoolDirectory::Open({.name = config.name,
                                                                 .path = config.location,
                                                                 .accept_move = config.accept_move,
                                                                 .may_make = may_make},
                                                                state_directory_fd));
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory.Verify());
  ASSIGN_OR_RETURN(const os::DirectIoSupport direct_io, os::ProbeDirectIo(pool.volumes));
  ASSIGN_OR_RETURN(std::string tag, TagOf(directory.pool_id(), pool.root));
  PoolInfo info{.id = directory.pool_id(),
                .name = config.name,
                .kind = config.kind,
                .location = config.location,
                .node = node_id,
                .default_filesystem = config.default_filesystem,
                .topology = std::nullopt,
                .sector_size = direct_io.sector_size};
  return std::unique_ptr<FilePool>(
      new FilePool(std::move(info), config.space, std::move(directory), direct_io, std::move(tag)));
}

absl::Status FilePool::CheckReady() { return directory_.Verify().status(); }

VolumeId FilePool::IdForName(const std::string& name) const {
  // pool_id() was checked to be a UUID when the marker was read.
  return VolumeId{info_.name, info_.node, *UuidOfName(directory_.pool_id(), name)};
}

absl::StatusOr<Volume> FilePool::Get(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const VolumeRecord record, ReadRecord(pool, id));
  return WithPool(record.volume);
}

absl::StatusOr<std::vector<Volume>> FilePool::List(const std::string& after_uuid,
                                                   std::size_t limit) {
  std::vector<Volume> volumes = records_.List(after_uuid, limit);
  for (Volume& volume : volumes) volume = WithPool(std::move(volume));
  return volumes;
}

absl::StatusOr<PoolCapacity> FilePool::GetCapacity(Provisioning provisioning) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const Room room, CountedRoom(pool));
  const Bytes largest = ledger_.LargestPromise(provisioning, room);
  return PoolCapacity{.available_bytes = largest,
                      .maximum_volume_bytes = largest,
                      .minimum_volume_bytes = kVolumeGranularity};
}

// Room that a thin volume has given back (trimmed) is owed to it again, so fresh room is compared
// with fresh debts alone; with older ones, only as much room counts as there was then.
absl::StatusOr<Room> FilePool::CountedRoom(const VerifiedPool& pool) {
  ASSIGN_OR_RETURN(const os::FilesystemSpace space, os::MeasureFilesystem(pool.root));
  Room room = PromisableRoom(space);
  const auto start = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    const bool changed = room.available != counted_room_;
    if (!changed || start - counted_at_ < kCountingShare * count_took_) {
      room.available = std::min(room.available, counted_room_);
      return room;
    }
  }
  ledger_.Recount(AllocationMeter(pool));
  ASSIGN_OR_RETURN(const os::FilesystemSpace after, os::MeasureFilesystem(pool.root));
  room.available = std::min(room.available, PromisableRoom(after).available);
  const std::lock_guard lock(mutex_);
  counted_at_ = std::chrono::steady_clock::now();
  count_took_ = counted_at_ - start;
  counted_room_ = room.available;
  return room;
}

absl::StatusOr<PoolUsage> FilePool::GetUsage() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const os::FilesystemSpace space, os::MeasureFilesystem(pool.root));
  const Room room = RoomOf(space);
  const Room promisable = PromisableRoom(space);
  ledger_.Recount(AllocationMeter(pool));
  return PoolUsage{.total = room.total,
                   .free = room.available,
                   .reserve = ledger_.ReserveOf(room),
                   .thick_provisioned = ledger_.Promised(Provisioning::kThick),
                   .thin_provisioned = ledger_.Promised(Provisioning::kThin),
                   .thick_available = ledger_.LargestPromise(Provisioning::kThick, promisable),
                   .thin_available = ledger_.LargestPromise(Provisioning::kThin, promisable),
                   .volumes = records_.size()};
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
    const absl::Status fits =
        record.ok() ? RequireImageSize(image->get(), *record) : record.status();
    if (!fits.ok()) return abnormal(MessageOf(fits));
  }
  if (volume.provisioning == Provisioning::kThick && *allocated < volume.capacity_bytes) {
    return abnormal(fmt::format("{} of the thick volume are not allocated; staging it refills them",
                                FormatBytes(volume.capacity_bytes - *allocated)));
  }
  if (volume.provisioning == Provisioning::kThick) {
    const std::string why = WhyNotThick(image->get());
    if (!why.empty()) {
      return abnormal(fmt::format(
          "the volume is not thick any more: {}, so an overwrite needs new space; 'Moving a pool' "
          "in docs/operations.md tells how to repair it",
          why));
    }
  } else if (*allocated < volume.capacity_bytes && IsFull(pool->root)) {
    return abnormal(
        "the filesystem that carries the pool is full: writes to this thin volume may fail where "
        "they need new space; free room there");
  }
  return VolumeCondition{false, "storage is as promised"};
}

absl::StatusOr<VolumeRecord> FilePool::ReadRecord(const VerifiedPool& pool, const VolumeId& id) {
  ASSIGN_OR_RETURN(VolumeRecord record, records_.Read(pool.volumes, id.uuid));
  if (record.volume.state == VolumeState::kAllocating ||
      record.volume.state == VolumeState::kDeleting) {
    RETURN_IF_ERROR(RequireUnwantedFiles(pool, record));
    return NotFound("there is no volume '{}'", id.ToString());
  }
  return record;
}

absl::StatusOr<os::UniqueFd> FilePool::OpenImageOf(const VerifiedPool& pool,
                                                   const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool.volumes, uuid));
  auto image = OpenImage(directory.get());
  if (!absl::IsNotFound(image.status())) return image;
  return Annotate(WithCode(image.status(), absl::StatusCode::kFailedPrecondition),
                  fmt::format("volume {}", uuid));
}

absl::Status FilePool::RequireUnwantedFiles(const VerifiedPool& pool, const VolumeRecord& record) {
  if (IsUsable(record.volume.state)) return absl::OkStatus();
  const auto directory = os::OpenDirectoryAt(pool.volumes, record.volume.id.uuid);
  if (absl::IsNotFound(directory.status())) return absl::OkStatus();
  RETURN_IF_ERROR(directory.status());
  return RequireUnwanted(directory->get(), record);
}

absl::Status FilePool::RequireImageSize(int image_fd, const VolumeRecord& record) {
  ASSIGN_OR_RETURN(const Bytes size, ImageSize(image_fd));
  const Bytes least = record.volume.capacity_bytes;
  const Bytes most = std::max(least, record.grow_to_bytes);  // a growth may have begun
  if (least <= size && size <= most) return absl::OkStatus();
  if (size > most) {
    return FailedPrecondition(
        "the image of volume {} has {} bytes, its record says {}: the record is older than the "
        "image; keep the image and restore a newer record.json, or see 'A record that is older "
        "than its image' in docs/operations.md",
        record.volume.id.uuid, size, most);
  }
  return FailedPrecondition(
      "the image of volume {} has {} bytes, its record says {}: it was truncated or replaced; "
      "restore it from a backup",
      record.volume.id.uuid, size, least);
}

absl::StatusOr<Room> FilePool::MeasureRoom(const VerifiedPool& pool) {
  ASSIGN_OR_RETURN(const os::FilesystemSpace space, os::MeasureFilesystem(pool.root));
  if (LacksInodes(space)) {
    return ResourceExhausted(
        "the filesystem of pool '{}' has {} inodes left, and a volume takes {}: remove other files "
        "from it, or move the pool to a filesystem with more inodes",
        info_.name, space.inodes_available, kInodesOfVolume);
  }
  return RoomOf(space);
}

// The meters must not outlive `pool`.
Ledger::MeasureRoom FilePool::RoomMeter(const VerifiedPool& pool) {
  return [this, &pool] { return MeasureRoom(pool); };
}

Ledger::MeasureAllocated FilePool::AllocationMeter(const VerifiedPool& pool) {
  return [&pool](const std::string& uuid) -> std::optional<Bytes> {
    const auto directory = os::OpenDirectoryAt(pool.volumes, uuid);
    if (!directory.ok()) return std::nullopt;
    const auto image = OpenImage(directory->get());
    if (!image.ok()) return std::nullopt;
    const auto allocated = ImageAllocated(image->get());
    return allocated.ok() ? std::optional(*allocated) : std::nullopt;
  };
}

Volume FilePool::WithPool(Volume volume) const {
  volume.id.pool = info_.name;
  volume.id.node = info_.node;
  return volume;
}

}  // namespace holdfast::pool
