// SPDX-License-Identifier: Apache-2.0
// Attaching images as loop devices, and the steps around formatting that the record guards.
#include "core/device_name.h"
#include "core/log.h"
#include "os/device_use.h"
#include "os/file.h"
#include "os/loop_identity.h"
#include "pool/file_pool.h"
#include "pool/format_state.h"
#include "pool/image_evidence.h"
#include "pool/image_file.h"

namespace holdfast::pool {
namespace {

absl::Status AttachedByOthers(const std::string& uuid, const os::LoopDevice& other) {
  return FailedPrecondition(
      "another program has attached the image of volume {} to {}; detach it with losetup -d", uuid,
      other.block.path);
}

// Two devices on one image are two caches that know nothing of each other.
absl::Status RequireNoOther(const std::string& uuid, const os::LoopsOfImage& loops) {
  if (!loops.other) return absl::OkStatus();
  if (!loops.own) return AttachedByOthers(uuid, *loops.other);
  return Annotate(AttachedByOthers(uuid, *loops.other),
                  fmt::format("attached twice, to {} and to {}", loops.own->block.path,
                              loops.other->block.path));
}

absl::StatusOr<os::LoopDevice> AttachNew(int image_fd, const VolumeRecord& record, bool direct_io,
                                         const std::string& label) {
  const os::LoopOptions options{
      .sector_size = record.sector_size,
      .direct_io = direct_io,
      .read_only = false,
      .discard = record.volume.provisioning == Provisioning::kThin,
      .label = label,
  };
  return os::AttachLoop(image_fd, options);
}

}  // namespace

absl::Status FilePool::PublishTo(const VolumeId& id, const std::string& node, AccessMode) {
  RETURN_IF_ERROR(Get(id).status());
  if (node == info().node) return absl::OkStatus();
  return FailedPrecondition("volume '{}' is on node '{}' and cannot be published to '{}'",
                            id.ToString(), info().node, node);
}

absl::StatusOr<os::BlockDevice> FilePool::MapDevice(const VolumeId& id, AccessMode) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(VolumeRecord record, ReadRecord(pool, id));
  if (record.grow_to_bytes != 0) RETURN_IF_ERROR(FinishGrowth(pool, record));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImageOf(pool, id.uuid));
  RETURN_IF_ERROR(RequireImageSize(image.get(), record));
  const bool thick = record.volume.provisioning == Provisioning::kThick;
  if (thick) {
    const absl::Status refilled = RefillHoles(image.get(), record.volume.capacity_bytes);
    // The data is whole; only the promise of space is not, which Condition reports.
    if (!refilled.ok())
      LogWarning("volume {} is not thick: {}", id.ToString(), MessageOf(refilled));
    const std::string why = WhyNotThick(image.get());
    if (!why.empty()) LogWarning("volume {} is not thick: {}", id.ToString(), why);
  }
  ASSIGN_OR_RETURN(const os::LoopsOfImage loops, FindLoops(image.get(), id.uuid));
  RETURN_IF_ERROR(RequireNoOther(id.uuid, loops));
  std::optional<os::LoopDevice> loop = loops.own;
  if (loop) {
    // Attached by an earlier call that may have been killed before these two.
    if (thick) RETURN_IF_ERROR(os::RefuseDiscard(*loop));
    ASSIGN_OR_RETURN(loop->block.size, os::RefreshLoop(*loop));
  } else {
    ASSIGN_OR_RETURN(loop, AttachNew(image.get(), record, direct_io_.direct_io, LabelOf(id.uuid)));
    RememberLoop(id.uuid, loop->index);
  }
  if (loop->block.size != record.volume.capacity_bytes) {
    return Internal("{} has {} bytes, volume '{}' has {}", loop->block.path, loop->block.size,
                    id.ToString(), record.volume.capacity_bytes);
  }
  return loop->block;
}

absl::StatusOr<std::optional<os::BlockDevice>> FilePool::FindDevice(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool.volumes, id.uuid));
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory.get()));
  std::optional<os::LoopDevice> loop;
  if (image) {
    ASSIGN_OR_RETURN(loop, FindLoopOf(image->get(), id.uuid));
  } else {
    // Its file may have been removed under an attached device.
    ASSIGN_OR_RETURN(std::vector<os::LoopDevice> loops, os::FindLoopsByLabel(LabelOf(id.uuid)));
    if (loops.size() > 1) {
      return FailedPrecondition("both {} and {} show lost images of volume {}", loops[0].block.path,
                                loops[1].block.path, id.uuid);
    }
    if (!loops.empty()) loop = std::move(loops.front());
  }
  if (!loop) return std::nullopt;
  return loop->block;
}

absl::Status FilePool::UnmapDevice(const VolumeId& id) {
  const auto pool = directory_.Verify();
  if (!pool.ok()) return DetachUnreachable(id.uuid);
  const auto directory = os::OpenDirectoryAt(pool->volumes, id.uuid);
  if (absl::IsNotFound(directory.status())) return DetachUnreachable(id.uuid);
  RETURN_IF_ERROR(directory.status());
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory->get()));
  if (image) {
    ASSIGN_OR_RETURN(const auto loop, FindLoopOf(image->get(), id.uuid));
    if (loop) return DetachUnused(*loop, id.uuid);
  }
  // A device may show the image that was here before it was removed or replaced.
  return DetachUnreachable(id.uuid);
}

absl::StatusOr<std::vector<VolumeId>> FilePool::ListOwnDevices() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  std::vector<VolumeId> attached;
  for (const os::LoopLabel& loop : os::LoopLabels(kLoopLabelPrefix)) {
    const std::string uuid = UuidOfLoopLabel(loop.label).value_or("");
    if (loop.label != LabelOf(uuid)) continue;  // another pool's
    const auto directory = os::OpenDirectoryAt(pool.volumes, uuid);
    const auto image = directory.ok() ? OpenImage(directory->get()) : directory.status();
    if (!image.ok()) continue;  // its files are gone
    const auto found = os::FindLoops(image->get(), loop.label, loop.index);
    if (!found.ok() || !found->own || found->own->index != loop.index) continue;
    RememberLoop(uuid, loop.index);
    attached.push_back(VolumeId{info_.name, info_.node, uuid});
  }
  return attached;
}

absl::Status FilePool::UnmapOwnDevice(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  const auto directory = os::OpenDirectoryAt(pool.volumes, id.uuid);
  if (directory.ok()) return DetachOwnDeviceOf(directory->get(), id.uuid);
  if (absl::IsNotFound(directory.status())) RETURN_IF_ERROR(DetachUnreachable(id.uuid));
  return directory.status();
}

absl::Status FilePool::DetachOwnDeviceOf(int directory_fd, const std::string& uuid) {
  const auto image = OpenImage(directory_fd);
  if (absl::IsNotFound(image.status())) return DetachUnreachable(uuid);
  RETURN_IF_ERROR(image.status());
  // Without a hint, so that a second device on the image is noticed.
  ASSIGN_OR_RETURN(const auto loops, os::FindLoops(image->get(), LabelOf(uuid)));
  RETURN_IF_ERROR(RequireNoOther(uuid, loops));
  return loops.own ? DetachUnused(*loops.own, uuid) : absl::OkStatus();
}

absl::Status FilePool::DetachAbsent(const VolumeId& id) {
  // The pool's tag needs its directory. A copy of the pool may be served on this host as well, so
  // only the one device that has the volume's label, whatever the tag, is taken for it.
  const std::vector<os::LoopLabel> loops = os::LoopLabels(LoopLabelOf(id.uuid, ""));
  if (loops.empty()) return absl::OkStatus();
  if (loops.size() > 1) {
    return FailedPrecondition("{} loop devices are labelled as volume {}'s", loops.size(), id.uuid);
  }
  const int index = loops.front().index;
  ASSIGN_OR_RETURN(os::BlockDevice block,
                   os::InspectBlockDevice(fmt::format("/dev/loop{}", index)));
  RETURN_IF_ERROR(os::RequireUnused(block));
  return os::DetachLoop({.index = index, .block = std::move(block), .label = loops.front().label});
}

// By the labels alone: teardown must not depend on the pool's disk being where it was.
absl::Status FilePool::DetachUnreachable(const std::string& uuid) {
  ASSIGN_OR_RETURN(const auto loops, os::FindLoopsByLabel(LabelOf(uuid)));
  for (const os::LoopDevice& loop : loops) RETURN_IF_ERROR(DetachUnused(loop, uuid));
  return DetachDead(uuid);
}

// The kernel does not tell the label of a device whose disk is dead. The number that this process
// knows the volume's device by does, with the path.
absl::Status FilePool::DetachDead(const std::string& uuid) {
  const int index = LoopHint(uuid);
  if (index < 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto identity, os::IdentifyLoop(index));
  if (!identity || identity->label || UuidOfImagePath(identity->path) != uuid) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(os::BlockDevice block,
                   os::InspectBlockDevice(fmt::format("/dev/loop{}", index)));
  return DetachUnused(os::LoopDevice{.index = index, .block = std::move(block)}, uuid);
}

absl::Status FilePool::StartFormatting(const VolumeId& id, const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(VolumeRecord record, ReadRecord(pool, id));
  RETURN_IF_ERROR(EnterFormatting(record, filesystem_uuid));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImageOf(pool, id.uuid));
  ASSIGN_OR_RETURN(const std::string present, pool::FormattedUuid(image.get()));
  if (!present.empty() && present != filesystem_uuid) {
    return FailedPrecondition(
        "the image of volume '{}' was formatted with UUID {}: it is never formatted again",
        id.ToString(), present);
  }
  return records_.Write(pool.volumes, record);
}

absl::Status FilePool::FinishFormatting(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(VolumeRecord record, ReadRecord(pool, id));
  RETURN_IF_ERROR(LeaveFormatting(record));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImageOf(pool, id.uuid));
  // Before the record: a kill in between leaves one that is brought up to date by the next stage.
  const Volume& volume = record.volume;
  RETURN_IF_ERROR(MarkFormatted(image.get(), volume.filesystem, volume.filesystem_uuid));
  return records_.Write(pool.volumes, record);
}

absl::StatusOr<std::string> FilePool::FormattedUuid(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImageOf(pool, id.uuid));
  return pool::FormattedUuid(image.get());
}

absl::Status FilePool::ZeroVolume(const VolumeId& id) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(const VolumeRecord record, ReadRecord(pool, id));
  RETURN_IF_ERROR(RequireBlankable(record));
  ASSIGN_OR_RETURN(const os::UniqueFd image, OpenImageOf(pool, id.uuid));
  RETURN_IF_ERROR(DetachImage(image.get(), id.uuid));
  return ZeroImage(image.get(), record.volume.capacity_bytes, record.volume.provisioning);
}

std::string FilePool::LabelOf(const std::string& uuid) const { return LoopLabelOf(uuid, tag_); }

absl::StatusOr<os::LoopsOfImage> FilePool::FindLoops(int image_fd, const std::string& uuid) {
  const int hint = LoopHint(uuid);
  ASSIGN_OR_RETURN(os::LoopsOfImage loops, os::FindLoops(image_fd, LabelOf(uuid), hint));
  if (loops.own && loops.own->index != hint) RememberLoop(uuid, loops.own->index);
  return loops;
}

absl::StatusOr<std::optional<os::LoopDevice>> FilePool::FindLoopOf(int image_fd,
                                                                   const std::string& uuid) {
  ASSIGN_OR_RETURN(os::LoopsOfImage loops, FindLoops(image_fd, uuid));
  return std::move(loops.own);
}

absl::Status FilePool::DetachImage(int image_fd, const std::string& uuid) {
  ASSIGN_OR_RETURN(const auto loops, FindLoops(image_fd, uuid));
  RETURN_IF_ERROR(RequireNoOther(uuid, loops));
  return loops.own ? DetachUnused(*loops.own, uuid) : absl::OkStatus();
}

absl::Status FilePool::RequireNoOtherDevice(int directory_fd, const std::string& uuid) {
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory_fd));
  if (!image) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto loops, FindLoops(image->get(), uuid));
  return RequireNoOther(uuid, loops);
}

absl::Status FilePool::DetachUnused(const os::LoopDevice& loop, const std::string& uuid) {
  RETURN_IF_ERROR(os::RequireUnused(loop.block));
  RETURN_IF_ERROR(os::DetachLoop(loop));
  const std::lock_guard lock(mutex_);
  loop_hints_.erase(uuid);
  return absl::OkStatus();
}

int FilePool::LoopHint(const std::string& uuid) {
  const std::lock_guard lock(mutex_);
  const auto found = loop_hints_.find(uuid);
  return found == loop_hints_.end() ? -1 : found->second;
}

void FilePool::RememberLoop(const std::string& uuid, int index) {
  const std::lock_guard lock(mutex_);
  loop_hints_[uuid] = index;
}

}  // namespace holdfast::pool
