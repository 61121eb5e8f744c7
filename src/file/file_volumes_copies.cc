// SPDX-License-Identifier: Apache-2.0
// Copies of images: by sharing blocks where the filesystem that carries the pool can, and otherwise
// by copying the data, in steps while nothing uses the source, or within one short freeze.
#include <fcntl.h>

#include <chrono>
#include <limits>

#include "file/data_copy.h"
#include "file/file_volumes.h"
#include "file/image_copy.h"
#include "file/image_file.h"
#include "file/volume_image.h"
#include "os/block_device.h"
#include "os/file.h"
#include "os/host_filesystem.h"
#include "pool/volume_evidence.h"

namespace holdfast::file {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestCloning{10};
// Of one call of CopyOn, whichever comes first. A kill makes it copy no more than this again.
constexpr std::chrono::milliseconds kStepTime{500};
constexpr Bytes kStepBytes = 512 * kMiB;
constexpr std::chrono::milliseconds kSampleTime{250};
constexpr Bytes kSampleBytes = 16 * kMiB;

absl::Status NeedsSharedBlocks(const pool::VolumeRecord& source, std::string_view why) {
  return FailedPrecondition(
      "volume {} is in use, and the filesystem that carries the pool cannot share blocks between "
      "files: {}; snapshots and clones of volumes in use need xfs (made with reflink=1) or btrfs "
      "under the pool, or wait until no pod uses the volume",
      source.volume.id.uuid, why);
}

// The image of the source may have a size other than its record says.
absl::Status RequireCopied(const pool::VolumeRecord& source, int image_fd) {
  ASSIGN_OR_RETURN(const Bytes size, ImageSize(image_fd));
  RETURN_IF_ERROR(pool::RequireSize(size, source));
  return size == source.volume.capacity_bytes ? absl::OkStatus()
                                              : CutOffImage(image_fd, source.volume.capacity_bytes);
}

}  // namespace

// The writers of a mounted volume wait for the clone alone; everything that takes longer comes
// before or after it.
absl::Status FileBackend::CloneQuietly(const pool::VolumeRecord& source, int source_fd,
                                       int directory_fd) {
  const std::string& uuid = source.volume.id.uuid;
  ASSIGN_OR_RETURN(const os::UniqueFd image, CreateImage(directory_fd));
  ASSIGN_OR_RETURN(const auto device, devices_.FindOfImage(source_fd, uuid));
  if (!device) return CloneImage(source_fd, image.get());
  ASSIGN_OR_RETURN(
      const std::unique_ptr<pool::Quiet> quiet,
      quiesce_(uuid, *device, {.freeze = cut_.freeze, .longest_freeze = kLongestCloning}));
  // What writers of a raw device have left in the page cache.
  if (quiet == nullptr) RETURN_IF_ERROR(os::FlushBlockDevice(*device));
  const absl::Status cloned = CloneImage(source_fd, image.get());
  const absl::Status ended = quiet == nullptr ? absl::OkStatus() : quiet->End();
  return cloned.ok() ? ended : cloned;
}

absl::StatusOr<std::optional<pool::CopyProgress>> FileBackend::PlanCopy(
    const pool::VolumeRecord& source, VolumeRole) {
  if (CanShareBlocks()) return std::nullopt;
  const std::string& uuid = source.volume.id.uuid;
  ASSIGN_OR_RETURN(const os::UniqueFd from, OpenVolumeImageToRead(pool_.volumes, source));
  ASSIGN_OR_RETURN(const Bytes size, ImageSize(from.get()));
  RETURN_IF_ERROR(pool::RequireSize(size, source));  // what is missing would be copied as a hole
  ASSIGN_OR_RETURN(const auto device, devices_.FindOfImage(from.get(), uuid));
  if (device) {  // what is refused is refused before anything is reserved
    RETURN_IF_ERROR(RequireShortFreeze(source, from.get()));
    return std::nullopt;
  }
  RETURN_IF_ERROR(devices_.RequireUnused(pool_.volumes, uuid));
  RETURN_IF_ERROR(os::Sync(from.get(), "image"));
  pool::CopyProgress plan;
  ASSIGN_OR_RETURN(plan.data_bytes, DataBytes(from.get(), source.volume.capacity_bytes));
  ASSIGN_OR_RETURN(plan.source_version, VersionOf(from.get()));
  return plan;
}

// Of a thick volume everything is allocated before anything is copied. Nothing is ever written to a
// snapshot, so it needs room for its data only.
absl::Status FileBackend::MakeRoom(const pool::VolumeRecord& source,
                                   const pool::VolumeRecord& record, int source_fd,
                                   int directory_fd) {
  const Volume& volume = record.volume;
  const bool snapshot = volume.role == VolumeRole::kSnapshot;
  ASSIGN_OR_RETURN(const os::UniqueFd image, CreateImage(directory_fd));
  RETURN_IF_ERROR(ExtendImage(image.get(), volume.capacity_bytes,
                              snapshot ? Provisioning::kThin : volume.provisioning));
  if (!snapshot || volume.provisioning == Provisioning::kThin) return absl::OkStatus();
  RETURN_IF_ERROR(AllocateForData(source_fd, image.get(), source.volume.capacity_bytes));
  return os::Sync(image.get(), "image");
}

absl::StatusOr<Bytes> FileBackend::CopyOn(const pool::VolumeRecord& source,
                                          const pool::VolumeRecord& record) {
  RETURN_IF_ERROR(RequireUnchanged(source, record));
  ASSIGN_OR_RETURN(const os::UniqueFd from, OpenVolumeImageToRead(pool_.volumes, source));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  ASSIGN_OR_RETURN(const CopiedPart part,
                   CopyData(from.get(), image.get(), record.copy->copied_to,
                            source.volume.capacity_bytes, Clock::now() + kStepTime, kStepBytes));
  copy_rate_.Note(part.copied, part.took);
  RETURN_IF_ERROR(os::Sync(image.get(), "image"));
  RETURN_IF_ERROR(RequireUnchanged(source, record));
  return part.reached;
}

absl::Status FileBackend::RequireUnchanged(const pool::VolumeRecord& source,
                                           const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd from, OpenVolumeImageToRead(pool_.volumes, source));
  ASSIGN_OR_RETURN(const std::string version, VersionOf(from.get()));
  if (version == record.copy->source_version) return absl::OkStatus();
  return FailedPrecondition(
      "the image of {} {} was changed while it was being copied ({}; at first {}), so the {} is "
      "void; delete it and make another one",
      ToString(source.volume.role), source.volume.id.uuid, version, record.copy->source_version,
      ToString(record.volume.role));
}

absl::StatusOr<std::string> FileBackend::Copy(const pool::VolumeRecord& source,
                                              const pool::VolumeRecord& record) {
  const Volume& volume = record.volume;
  ASSIGN_OR_RETURN(const os::UniqueFd from, OpenVolumeImageToRead(pool_.volumes, source));
  ASSIGN_OR_RETURN(const os::UniqueFd directory,
                   os::OpenDirectoryAt(pool_.volumes, volume.id.uuid));
  if (record.copy) {
    RETURN_IF_ERROR(MakeRoom(source, record, from.get(), directory.get()));
    return std::string();
  }
  RETURN_IF_ERROR(CanShareBlocks() ? CloneQuietly(source, from.get(), directory.get())
                                   : CopyFrozen(source, record, from.get(), directory.get()));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImage(directory.get()));
  RETURN_IF_ERROR(os::Sync(image.get(), "image"));
  RETURN_IF_ERROR(RequireCopied(source, image.get()));
  // Nothing is ever written to a snapshot. Of a volume the holes are filled, too: xfs shares no
  // unwritten blocks.
  if (volume.role == VolumeRole::kSnapshot) return std::string();
  RETURN_IF_ERROR(ExtendImage(image.get(), volume.capacity_bytes, volume.provisioning));
  return std::string();
}

// The writers of a mounted volume wait for the whole copy.
absl::Status FileBackend::CopyFrozen(const pool::VolumeRecord& source,
                                     const pool::VolumeRecord& record, int source_fd,
                                     int directory_fd) {
  const Volume& volume = source.volume;
  const std::string& uuid = volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, devices_.FindOfImage(source_fd, uuid));
  if (!device) return Aborted("volume {} is not in use any more; try again", uuid);
  ASSIGN_OR_RETURN(const os::UniqueFd image, CreateImage(directory_fd));
  RETURN_IF_ERROR(ExtendImage(image.get(), volume.capacity_bytes, Provisioning::kThin));
  if (record.volume.provisioning == Provisioning::kThick) {
    RETURN_IF_ERROR(AllocateForData(source_fd, image.get(), volume.capacity_bytes));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<pool::Quiet> quiet, quiesce_(uuid, *device, cut_));
  if (quiet == nullptr) return NeedsSharedBlocks(source, "nothing holds back what writes to it");
  const auto copied =
      CopyData(source_fd, image.get(), 0, volume.capacity_bytes, Clock::now() + cut_.longest_freeze,
               std::numeric_limits<Bytes>::max());
  const absl::Status ended = quiet->End();
  RETURN_IF_ERROR(copied.status());
  copy_rate_.Note(copied->copied, copied->took);
  if (copied->reached == volume.capacity_bytes) return ended;
  return Aborted("volume {} was not copied within maxFreeze, {} ms; try again", uuid,
                 cut_.longest_freeze.count());
}

absl::Status FileBackend::RequireShortFreeze(const pool::VolumeRecord& source, int source_fd) {
  if (source.volume.access_type == AccessType::kBlock) {
    return NeedsSharedBlocks(source, "a raw block device cannot be frozen");
  }
  if (!cut_.freeze || !quiesce_) {
    return NeedsSharedBlocks(source, "it can be copied only while it is frozen");
  }
  ASSIGN_OR_RETURN(const Bytes data, DataBytes(source_fd, source.volume.capacity_bytes));
  MeasureCopyRate(source, source_fd);
  const auto time = copy_rate_.TimeFor(data);
  if (time <= cut_.longest_freeze) return absl::OkStatus();
  return NeedsSharedBlocks(
      source, fmt::format("it would be frozen for about {} ms to copy its {}, and maxFreeze is {} "
                          "ms",
                          time.count(), FormatBytes(data), cut_.longest_freeze.count()));
}

// By copying some of the volume's data to a file without a name. Where that fails, the rate that is
// assumed counts.
void FileBackend::MeasureCopyRate(const pool::VolumeRecord& source, int source_fd) {
  if (copy_rate_.IsKnown()) return;
  const os::UniqueFd sample(::openat(pool_.volumes, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!sample.valid()) return;
  const auto copied = CopyData(source_fd, sample.get(), 0, source.volume.capacity_bytes,
                               Clock::now() + kSampleTime, kSampleBytes);
  if (copied.ok()) copy_rate_.Note(copied->copied, copied->took);
}

absl::Status FileBackend::RequireCutsTogether() {
  if (CanShareBlocks()) return absl::OkStatus();
  return FailedPrecondition(
      "the filesystem that carries the pool cannot share blocks between files, so its volumes "
      "cannot be in a group snapshot: that needs xfs (made with reflink=1) or btrfs under the "
      "pool");
}

absl::Status FileBackend::PrepareCut(const pool::VolumeRecord& source, const pool::VolumeRecord&) {
  return Hold(source, /*freeze=*/false).status();
}

absl::StatusOr<pool::VolumeBackend::Held> FileBackend::HoldWriters(
    const pool::VolumeRecord& source) {
  return Hold(source, /*freeze=*/true);
}

absl::StatusOr<pool::VolumeBackend::Held> FileBackend::Hold(const pool::VolumeRecord& source,
                                                            bool freeze) {
  const std::string& uuid = source.volume.id.uuid;
  ASSIGN_OR_RETURN(const os::UniqueFd from, OpenVolumeImageToRead(pool_.volumes, source));
  ASSIGN_OR_RETURN(const auto device, devices_.FindOfImage(from.get(), uuid));
  Held held;
  if (!device) return held;
  held.in_use = true;
  ASSIGN_OR_RETURN(held.quiet, quiesce_(uuid, *device,
                                        {.freeze = freeze, .longest_freeze = cut_.longest_freeze}));
  return held;
}

absl::Status FileBackend::CutHeld(const pool::VolumeRecord& source,
                                  const pool::VolumeRecord& record, const Held& held) {
  ASSIGN_OR_RETURN(const os::UniqueFd from, OpenVolumeImageToRead(pool_.volumes, source));
  ASSIGN_OR_RETURN(const os::UniqueFd directory,
                   os::OpenDirectoryAt(pool_.volumes, record.volume.id.uuid));
  ASSIGN_OR_RETURN(const os::UniqueFd image, CreateImage(directory.get()));
  if (held.quiet != nullptr) return CloneImage(from.get(), image.get());
  ASSIGN_OR_RETURN(const auto device, devices_.FindOfImage(from.get(), source.volume.id.uuid));
  // What writers of a raw device have left in the page cache.
  if (device) RETURN_IF_ERROR(os::FlushBlockDevice(*device));
  return CloneImage(from.get(), image.get());
}

absl::StatusOr<std::string> FileBackend::FinishCut(const pool::VolumeRecord& source,
                                                   const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  RETURN_IF_ERROR(os::Sync(image.get(), "image"));
  RETURN_IF_ERROR(RequireCopied(source, image.get()));
  return std::string();
}

bool FileBackend::CanShareBlocks() {
  if (!can_share_) can_share_ = os::CanShareBlocks(pool_.volumes);
  return *can_share_;
}

absl::Status FileBackend::MarkCopied(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  return file::MarkCopied(image.get(), CanShareBlocks());
}

absl::StatusOr<bool> FileBackend::SharesStorage(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImageToRead(pool_.volumes, record));
  return IsUnfinishedCopy(image.get());
}

absl::StatusOr<bool> FileBackend::Unshare(const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenVolumeImage(pool_.volumes, record));
  ASSIGN_OR_RETURN(const auto device, devices_.FindOfImage(image.get(), record.volume.id.uuid));
  return UnshareImage(image.get(), device ? Writers::kADevice : Writers::kNone, unshared_);
}

}  // namespace holdfast::file
