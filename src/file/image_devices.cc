// SPDX-License-Identifier: Apache-2.0
#include "file/image_devices.h"

#include <algorithm>

#include "core/log.h"
#include "file/image_file.h"
#include "file/loop_label.h"
#include "os/device_use.h"
#include "os/file.h"
#include "os/loop_number.h"

namespace holdfast::file {
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

absl::StatusOr<os::LoopDevice> AttachNew(int image_fd, const pool::VolumeRecord& record,
                                         bool direct_io, const std::string& label) {
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

absl::StatusOr<os::BlockDevice> ImageDevices::Map(int image_fd, const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const bool thick = record.volume.provisioning == Provisioning::kThick;
  ASSIGN_OR_RETURN(const os::LoopsOfImage loops, FindLoops(image_fd, uuid));
  RETURN_IF_ERROR(RequireNoOther(uuid, loops));
  std::optional<os::LoopDevice> loop = loops.own;
  if (loop) {
    // Attached by an earlier call that may have been killed before these two.
    if (thick) RETURN_IF_ERROR(os::RefuseDiscard(*loop));
    ASSIGN_OR_RETURN(loop->block.size, os::RefreshLoop(*loop));
  } else {
    ASSIGN_OR_RETURN(loop, AttachNew(image_fd, record, direct_io_, LabelOf(uuid)));
    RememberLoop(uuid, loop->index);
  }
  return loop->block;
}

absl::StatusOr<std::optional<os::BlockDevice>> ImageDevices::Find(int volumes_fd,
                                                                  const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(volumes_fd, uuid));
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory.get()));
  if (image) return FindOfImage(image->get(), uuid);
  // Its file may have been removed under an attached device.
  ASSIGN_OR_RETURN(std::vector<os::LoopDevice> loops, os::FindLoopsByLabel(LabelOf(uuid)));
  if (loops.size() > 1) {
    return FailedPrecondition("both {} and {} show lost images of volume {}", loops[0].block.path,
                              loops[1].block.path, uuid);
  }
  if (loops.empty()) return std::nullopt;
  return std::move(loops.front().block);
}

absl::StatusOr<std::optional<os::BlockDevice>> ImageDevices::FindOfImage(int image_fd,
                                                                         const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::LoopsOfImage loops, FindLoops(image_fd, uuid));
  if (!loops.own) return std::nullopt;
  return loops.own->block;
}

absl::Status ImageDevices::Refresh(int image_fd, const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::LoopsOfImage loops, FindLoops(image_fd, uuid));
  return loops.own ? os::RefreshLoop(*loops.own).status() : absl::OkStatus();
}

absl::Status ImageDevices::Unmap(int volumes_fd, const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(volumes_fd, uuid);
  if (absl::IsNotFound(directory.status())) return UnmapUnreachable(uuid);
  RETURN_IF_ERROR(directory.status());
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory->get()));
  if (image) {
    ASSIGN_OR_RETURN(const os::LoopsOfImage loops, FindLoops(image->get(), uuid));
    if (loops.own) return DetachUnused(*loops.own, uuid);
  }
  // A device may show the image that was here before it was removed or replaced.
  return UnmapUnreachable(uuid);
}

absl::Status ImageDevices::UnmapForDeletion(int volumes_fd, const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(volumes_fd, uuid);
  if (absl::IsNotFound(directory.status())) return absl::OkStatus();
  RETURN_IF_ERROR(directory.status());
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory->get()));
  if (!image) return UnmapUnreachable(uuid);
  ASSIGN_OR_RETURN(const os::LoopsOfImage loops, FindLoops(image->get(), uuid));
  RETURN_IF_ERROR(RequireNoOther(uuid, loops));
  return loops.own ? DetachUnused(*loops.own, uuid) : absl::OkStatus();
}

absl::Status ImageDevices::UnmapAbandoned(int volumes_fd, const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(volumes_fd, uuid);
  if (absl::IsNotFound(directory.status())) RETURN_IF_ERROR(UnmapUnreachable(uuid));
  RETURN_IF_ERROR(directory.status());
  const auto image = OpenImage(directory->get());
  if (absl::IsNotFound(image.status())) return UnmapUnreachable(uuid);
  RETURN_IF_ERROR(image.status());
  // Without a hint, so that a second device on the image is noticed.
  ASSIGN_OR_RETURN(const auto loops, os::FindLoops(image->get(), LabelOf(uuid)));
  RETURN_IF_ERROR(RequireNoOther(uuid, loops));
  return loops.own ? DetachUnused(*loops.own, uuid) : absl::OkStatus();
}

absl::Status ImageDevices::RequireUnused(int volumes_fd, const std::string& uuid) {
  ASSIGN_OR_RETURN(const auto device, Find(volumes_fd, uuid));
  if (device) RETURN_IF_ERROR(os::RequireUnused(*device));
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(volumes_fd, uuid));
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory.get()));
  if (!image) return absl::OkStatus();
  ASSIGN_OR_RETURN(const os::LoopsOfImage loops, FindLoops(image->get(), uuid));
  return RequireNoOther(uuid, loops);
}

std::vector<std::string> ImageDevices::List(int volumes_fd) {
  std::vector<std::string> uuids;
  for (const os::LoopLabel& loop : os::LoopLabels(kLoopLabelPrefix)) {
    const std::string uuid = UuidOfLoopLabel(loop.label).value_or("");
    if (loop.label != LabelOf(uuid)) continue;  // another pool's
    const auto directory = os::OpenDirectoryAt(volumes_fd, uuid);
    const auto image = directory.ok() ? OpenImage(directory->get()) : directory.status();
    if (!image.ok()) continue;  // its files are gone
    const auto found = os::FindLoops(image->get(), loop.label, loop.index);
    if (!found.ok() || !found->own || found->own->index != loop.index) continue;
    RememberLoop(uuid, loop.index);
    uuids.push_back(uuid);
  }
  return uuids;
}

std::size_t ImageDevices::CountWithoutDirectIo() {
  if (!direct_io_) return 0;
  std::map<std::string, int> known;
  {
    const MutexLock lock(mutex_);
    known = loop_hints_;
  }
  return static_cast<std::size_t>(std::ranges::count_if(known, [](const auto& hint) {
    const auto file = os::FileOfLoop(hint.second);
    return file && !file->direct_io && UuidOfImagePath(file->path) == hint.first;
  }));
}

absl::Status ImageDevices::UnmapAbsent(const VolumeId& id) {
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

// By nothing but the labels: teardown must not depend on the pool's disk being in its place.
absl::Status ImageDevices::UnmapUnreachable(const std::string& uuid) {
  ASSIGN_OR_RETURN(const auto loops, os::FindLoopsByLabel(LabelOf(uuid)));
  for (const os::LoopDevice& loop : loops) RETURN_IF_ERROR(DetachUnused(loop, uuid));
  return DetachDead(uuid);
}

// The kernel does not show the label of a device whose disk is dead. The number that this process
// knows the volume's device by does, with the path.
absl::Status ImageDevices::DetachDead(const std::string& uuid) {
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

std::string ImageDevices::LabelOf(const std::string& uuid) const { return LoopLabelOf(uuid, tag_); }

absl::StatusOr<os::LoopsOfImage> ImageDevices::FindLoops(int image_fd, const std::string& uuid) {
  const int hint = LoopHint(uuid);
  ASSIGN_OR_RETURN(os::LoopsOfImage loops, os::FindLoops(image_fd, LabelOf(uuid), hint));
  if (loops.own && loops.own->index != hint) RememberLoop(uuid, loops.own->index);
  return loops;
}

absl::Status ImageDevices::DetachUnused(const os::LoopDevice& loop, const std::string& uuid) {
  RETURN_IF_ERROR(os::RequireUnused(loop.block));
  RETURN_IF_ERROR(os::DetachLoop(loop));
  const MutexLock lock(mutex_);
  loop_hints_.erase(uuid);
  return absl::OkStatus();
}

int ImageDevices::LoopHint(const std::string& uuid) {
  const MutexLock lock(mutex_);
  const auto found = loop_hints_.find(uuid);
  return found == loop_hints_.end() ? -1 : found->second;
}

void ImageDevices::RememberLoop(const std::string& uuid, int index) {
  const MutexLock lock(mutex_);
  loop_hints_[uuid] = index;
}

}  // namespace holdfast::file
