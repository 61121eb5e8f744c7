// SPDX-License-Identifier: Apache-2.0
#include "file/file_space.h"

#include <algorithm>

#include "core/trash_id.h"
#include "file/image_copy.h"
#include "file/image_file.h"
#include "os/file.h"
#include "os/host_filesystem.h"

namespace holdfast::file {
namespace {

// Counting what thin images have allocated takes some 10 us for each, and for those that share
// blocks as long as a look at all their extents, so it must not take more than this part of the
// time where the room changes all the time.
constexpr int kCountingShare = 100;
constexpr std::chrono::milliseconds kQuickCount{10};

// A directory, an image, a record and its temporary file.
constexpr std::int64_t kInodesOfVolume = 4;

// btrfs has no fixed number of inodes and reports none.
bool LacksInodes(const os::FilesystemSpace& space) {
  return space.inodes_total != 0 && space.inodes_available < kInodesOfVolume;
}

pool::Room RoomOf(const os::FilesystemSpace& space) {
  // Allocating also takes some blocks for the filesystem's own description of the image.
  const Bytes slack = std::min(space.total / 1024 + 4 * kMiB, kGiB);
  return {.total = space.total, .available = std::max<Bytes>(0, space.available - slack)};
}

// A filesystem that is full shows some blocks as available and does not give them; reservations
// leave more than this (RoomOf).
constexpr Bytes kNoRoom = kMiB;

// For the questions, which are answered with 0 where a reservation is refused.
pool::Room ReservableRoom(const os::FilesystemSpace& space) {
  return LacksInodes(space) ? pool::Room{.total = space.total, .available = 0} : RoomOf(space);
}

class LedgerReservation final : public pool::Reservation {
 public:
  explicit LedgerReservation(pool::Ledger::Reservation reservation)
      : reservation_(std::move(reservation)) {}
  void Commit() override { reservation_.Commit(); }

 private:
  pool::Ledger::Reservation reservation_;
};

}  // namespace

// Room that a thin volume has given back (trimmed) is owed to it again, so fresh room is compared
// only with fresh sums; with older ones, only as much room counts as there was then.
absl::StatusOr<pool::Room> FileSpace::CountedRoom(const VerifiedPool& pool, Recount recount) {
  ASSIGN_OR_RETURN(const os::FilesystemSpace space, os::MeasureFilesystem(pool.root));
  pool::Room room = ReservableRoom(space);
  const auto start = std::chrono::steady_clock::now();
  {
    const MutexLock lock(mutex_);
    const bool unchanged = recount == Recount::kIfRoomChanged && room.available == counted_room_;
    const bool quick = recount == Recount::kIfQuick && count_took_ < kQuickCount;
    const bool recent = start - counted_at_ < kCountingShare * count_took_;
    if (unchanged || (recent && !quick)) {
      room.available = std::min(room.available, counted_room_);
      return room;
    }
  }
  ledger_.Recount(AllocationMeter(pool));
  ASSIGN_OR_RETURN(const os::FilesystemSpace after, os::MeasureFilesystem(pool.root));
  room.available = std::min(room.available, ReservableRoom(after).available);
  const MutexLock lock(mutex_);
  counted_at_ = std::chrono::steady_clock::now();
  count_took_ = counted_at_ - start;
  counted_room_ = room.available;
  return room;
}

bool FileSpace::IsFull(const VerifiedPool& pool) {
  const auto space = os::MeasureFilesystem(pool.root);
  return space.ok() && space->available < kNoRoom;
}

absl::StatusOr<PoolCapacity> FileSpace::Capacity(const VerifiedPool& pool,
                                                 Provisioning provisioning) {
  ASSIGN_OR_RETURN(const pool::Room room, CountedRoom(pool, Recount::kIfRoomChanged));
  const Bytes largest = ledger_.LargestReservation(provisioning, room);
  return PoolCapacity{.available_bytes = largest,
                      .maximum_volume_bytes = largest,
                      .minimum_volume_bytes = kVolumeGranularity};
}

absl::StatusOr<pool::PoolUsage> FileSpace::Usage(const VerifiedPool& pool) {
  ASSIGN_OR_RETURN(const os::FilesystemSpace space, os::MeasureFilesystem(pool.root));
  const pool::Room room = RoomOf(space);
  ASSIGN_OR_RETURN(const pool::Room reservable, CountedRoom(pool, Recount::kIfQuick));
  return pool::PoolUsage{
      .total = room.total,
      .free = room.available,
      .reserve = ledger_.ReserveOf(room),
      .thick_provisioned = ledger_.Provisioned(Provisioning::kThick),
      .thin_provisioned = ledger_.Provisioned(Provisioning::kThin),
      .thick_available = ledger_.LargestReservation(Provisioning::kThick, reservable),
      .thin_available = ledger_.LargestReservation(Provisioning::kThin, reservable),
      .thin_unallocated = ledger_.Unallocated(Provisioning::kThin)};
}

absl::StatusOr<std::unique_ptr<pool::Reservation>> FileSpace::Reserve(const VerifiedPool& pool,
                                                                      const std::string& uuid,
                                                                      Provisioning provisioning,
                                                                      Bytes increment) {
  ASSIGN_OR_RETURN(
      pool::Ledger::Reservation reservation,
      ledger_.Reserve(uuid, provisioning, increment, RoomMeter(pool), AllocationMeter(pool)));
  return std::make_unique<LedgerReservation>(std::move(reservation));
}

bool FileSpace::WouldFitWithout(const VerifiedPool& pool, const std::vector<std::string>& names,
                                Provisioning provisioning, Bytes increment) {
  const auto space = os::MeasureFilesystem(pool.root);
  return space.ok() && ledger_.WouldFitWithout(names, provisioning, increment, RoomOf(*space));
}

absl::StatusOr<pool::Room> FileSpace::MeasureRoom(const VerifiedPool& pool) {
  ASSIGN_OR_RETURN(const os::FilesystemSpace space, os::MeasureFilesystem(pool.root));
  if (LacksInodes(space)) {
    return ResourceExhausted(
        "the filesystem of pool '{}' has {} inodes left, and a volume takes {}: remove other files "
        "from it, or move the pool to a filesystem with more inodes",
        pool_name_, space.inodes_available, kInodesOfVolume);
  }
  return RoomOf(space);
}

// The meters must not outlive `pool`.
pool::Ledger::MeasureRoom FileSpace::RoomMeter(const VerifiedPool& pool) {
  return [this, &pool] { return MeasureRoom(pool); };
}

pool::Ledger::MeasureAllocated FileSpace::AllocationMeter(const VerifiedPool& pool) {
  return [&pool](const std::string& uuid) -> std::optional<Bytes> {
    const auto directory = os::OpenDirectoryAt(IsTrashKey(uuid) ? pool.trash : pool.volumes, uuid);
    if (!directory.ok()) return std::nullopt;
    const auto image = OpenImage(directory->get());
    if (!image.ok()) return std::nullopt;
    const auto allocated = OwnBytes(image->get());
    return allocated.ok() ? std::optional(*allocated) : std::nullopt;
  };
}

}  // namespace holdfast::file
