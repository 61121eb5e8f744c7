// SPDX-License-Identifier: Apache-2.0
#include "node/stager.h"

#include <fcntl.h>
#include <sys/statvfs.h>

#include "core/log.h"
#include "fs/filesystem.h"
#include "node/format_once.h"
#include "node/mount_teardown.h"
#include "node/staged_growth.h"
#include "node/taken_over_filesystem.h"
#include "node/target_paths.h"
#include "os/mount_table.h"
#include "os/mounter.h"
#include "os/request_path.h"

namespace holdfast::node {
namespace {

using os::BlockDevice;
using os::RequestPath;

constexpr auto kUnsupported = absl::StatusCode::kFailedPrecondition;

absl::Status RequireSameStage(const state::StageRecord& record, const std::string& staging_path,
                              const VolumeUse& use) {
  if (record.staging_path != staging_path) {
    return FailedPrecondition("volume '{}' is already staged at '{}'", record.volume_id,
                              record.staging_path);
  }
  if (record.access_mode != use.access_mode || record.mount_flags != use.mount_flags) {
    return AlreadyExists(
        "volume '{}' is already staged at '{}' with access mode {} or other mount flags",
        record.volume_id, staging_path, ToString(record.access_mode));
  }
  return absl::OkStatus();
}

// By the mount itself: a filesystem that went read-only after errors is still the one we mounted.
bool IsMountedReadOnly(const os::MountEntry& entry) {
  return entry.mount_options == "ro" || entry.mount_options.starts_with("ro,");
}

// What is mounted at the path is the filesystem on the device. False also when in doubt.
bool ShowsFilesystem(const RequestPath& target, const BlockDevice& device, bool read_only) {
  const auto handle = target.OpenHandle();
  if (!handle.ok()) return false;
  const auto behind = os::DeviceBehind(handle->get(), target.path());
  struct statvfs facts {};
  return behind.ok() && *behind == device.number && ::fstatvfs(handle->get(), &facts) == 0 &&
         ((facts.f_flag & ST_RDONLY) != 0) == read_only;
}

// Whether the device is mounted at the staging path as wanted. ALREADY_EXISTS for another mount.
absl::StatusOr<bool> IsMounted(const BlockDevice& device, const Volume& volume,
                               const RequestPath& target, bool read_only) {
  if (target.HasNoMount()) return false;
  // Without the mount table, which costs more with every mount of the host, as long as all is well.
  if (ShowsFilesystem(target, device, read_only)) return true;
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  const os::MountEntry* const entry = mounts.At(target.path());
  if (entry == nullptr) return false;
  if (entry->device == device.number && entry->filesystem == volume.filesystem &&
      read_only == IsMountedReadOnly(*entry)) {
    return true;
  }
  return AlreadyExists("'{}' is mounted at '{}' as {} ({})", entry->source, target.path(),
                       entry->filesystem, entry->mount_options);
}

// Growth that NodeExpandVolume did not reach. A volume that cannot grow still has its data, so
// the pod starts; the CO sees the failure when it expands.
void GrowIfSmaller(const fs::Filesystem& filesystem, const BlockDevice& device,
                   const RequestPath& target, const state::StageStore& stages,
                   state::StageRecord& record) {
  const auto can_grow = filesystem.CanGrow(device, target.path());
  absl::Status grown = can_grow.status();
  if (record.growing || record.freezing || can_grow.value_or(false)) {
    grown = GrowStaged(filesystem, device, target.path(), stages, record);
  }
  if (!grown.ok()) LogWarning("cannot grow {} while staging: {}", device.path, MessageOf(grown));
}

struct PreparedDevice {
  BlockDevice device;
  bool may_grow = false;
};

// What comes before the mount: the filesystem is made, or proved to be ours and sound.
absl::StatusOr<PreparedDevice> PrepareDevice(pool::Pool& pool, const Volume& volume,
                                             const BlockDevice& attached,
                                             const fs::Filesystem& filesystem, bool read_only,
                                             const std::string& undo_path) {
  const bool recorded = volume.state == VolumeState::kFormatted;
  os::UniqueFd open;  // so that what is read of the device is read once
  if (recorded) {
    ASSIGN_OR_RETURN(open, os::OpenBlockDevice(attached, O_RDONLY));
    RETURN_IF_ERROR(filesystem.UndoInterrupted(attached, undo_path));
  }
  ASSIGN_OR_RETURN(const FormattedDevice formatted,
                   EnsureFormatted(pool, volume, attached, undo_path));
  const BlockDevice& device = formatted.device;
  if (!formatted.is_new && !recorded) {  // only its record was old
    RETURN_IF_ERROR(filesystem.UndoInterrupted(device, undo_path));
  }
  if (formatted.is_new || read_only) return PreparedDevice{.device = device, .may_grow = false};
  ASSIGN_OR_RETURN(const bool full, filesystem.PrepareMount(device, undo_path));
  return PreparedDevice{.device = device, .may_grow = !full};
}

// Mounts the volume unless it is mounted; returns whether this call did.
absl::StatusOr<bool> MountVolume(pool::Pool& pool, const Volume& volume,
                                 const BlockDevice& attached, const RequestPath& target,
                                 const VolumeUse& use, const state::NodeState& state,
                                 state::StageRecord& record) {
  const bool read_only = IsReadOnly(use);
  ASSIGN_OR_RETURN(const bool mounted, IsMounted(attached, volume, target, read_only));
  const fs::Filesystem* const filesystem = fs::FindFilesystem(volume.filesystem);
  if (filesystem == nullptr) return Internal("unknown filesystem '{}'", volume.filesystem);
  if (mounted) {
    // A kill may have come after the mount and before the growth had its mark.
    if (!read_only) GrowIfSmaller(*filesystem, attached, target, state.stages, record);
    return false;
  }
  ASSIGN_OR_RETURN(
      const PreparedDevice prepared,
      PrepareDevice(pool, volume, attached, *filesystem, read_only, state.undo.PathFor(volume.id)));
  const BlockDevice& device = prepared.device;
  const absl::Status done = os::MountFilesystem(os::DeviceMount{.device = device.path,
                                                                .filesystem = volume.filesystem,
                                                                .read_only = read_only,
                                                                .flags = use.mount_flags},
                                                target);
  // NOT_FOUND, for a missing staging directory, would say that there is no such volume.
  if (absl::IsNotFound(done)) return WithCode(done, absl::StatusCode::kFailedPrecondition);
  if (!done.ok() && device.read_only) {
    return FailedPrecondition(
        "{}; if its filesystem was not unmounted cleanly, which a reader cannot recover, stage the "
        "volume once with an access mode that writes",
        MessageOf(done));
  }
  RETURN_IF_ERROR(done);
  if (prepared.may_grow) GrowIfSmaller(*filesystem, device, target, state.stages, record);
  return true;
}

absl::Status StageVolume(const pool::Pools& pools, pool::Pool& pool, const state::NodeState& state,
                         const Volume& found, state::StageRecord& record, bool recorded,
                         const RequestPath& target, const VolumeUse& use) {
  ASSIGN_OR_RETURN(const BlockDevice device, pool.MapDevice(found.id, use.access_mode));
  Volume volume = found;
  if (IsToBeTakenOver(volume, use)) {
    ASSIGN_OR_RETURN(volume, TakeOverFilesystem(pool, found, device, use.filesystem));
  }
  bool mounted_now = false;
  if (volume.access_type == AccessType::kMount) {
    ASSIGN_OR_RETURN(mounted_now, MountVolume(pool, volume, device, target, use, state, record));
  }
  if (recorded && !mounted_now) return absl::OkStatus();
  const absl::Status written = state.stages.Write(record);
  if (!written.ok() && mounted_now) {
    const Teardown teardown = TeardownOf(pools, state.stages, record.volume_id, target.path());
    RETURN_IF_ERROR(UnmountStaged(target, teardown).status());
  }
  return written;
}

// Whether the volume is known to be staged at another path: then nothing of it may be
// undone here.
bool IsElsewhere(const os::DeviceOwners& devices, const absl::StatusOr<state::StageRecord>& record,
                 const std::string& uuid, const std::string& path,
                 const absl::StatusOr<RequestPath>& target) {
  if (!record.ok() || record->staging_path == path) return false;
  if (!target.ok() || !IsShownAt(devices, *target, uuid)) return true;
  // A mount moves along with a directory above it: then this is where it is now.
  const auto recorded = RequestPath::Open(record->staging_path, "staging_target_path");
  return recorded.ok() && IsShownAt(devices, *recorded, uuid);
}

}  // namespace

absl::Status Stager::Stage(const std::string& volume_id, const std::string& staging_path,
                           const VolumeUse& use, const Secrets& secrets) const {
  ASSIGN_OR_RETURN(const auto located,
                   pools_.LocateAs(volume_id, secrets, pool::Credentials::kRequired));
  pool::Pool& pool = *located.pool;
  RETURN_IF_ERROR(RequireReach(use, !pool.info().node.empty(), kUnsupported));
  ASSIGN_OR_RETURN(const Volume volume, pool.Get(located.id));
  RETURN_IF_ERROR(RequireStageable(volume, use));
  ASSIGN_OR_RETURN(const RequestPath target, OpenPath(staging_path, "staging_target_path"));
  ASSIGN_OR_RETURN(const auto path_lock, LockPath(path_locks_, target));
  auto record = state_.stages.Find(volume_id);
  bool staged_before = record.ok();
  if (staged_before) {
    // A record without a device is what is left of a staging that is gone, or the image was
    // replaced under it: then the old one must go before the new one comes.
    ASSIGN_OR_RETURN(const auto attached, pool.FindDevice(located.id));
    staged_before = attached.has_value();
    if (!staged_before) RETURN_IF_ERROR(pool.UnmapDevice(located.id));
  }
  if (staged_before) {
    if (IsToBeTakenOver(volume, use)) return RequireSuitable(volume, use);  // in use as raw block
    RETURN_IF_ERROR(RequireSameStage(*record, target.path(), use));
  } else {
    record = state::StageRecord{.volume_id = volume_id,
                                .staging_path = target.path(),
                                .access_mode = use.access_mode,
                                .mount_flags = use.mount_flags,
                                .growing = false,
                                .freezing = false,
                                .publications = {}};
  }
  const absl::Status staged =
      StageVolume(pools_, pool, state_, volume, *record, staged_before, target, use);
  if (staged.ok() || staged_before) return staged;
  // After an error no Unstage follows (the kubelet forgets the volume), so nothing may stay.
  const absl::Status detached = pool.UnmapDevice(located.id);
  if (!detached.ok()) {
    LogWarning("volume {} stays attached after a failed stage: {}", volume_id, MessageOf(detached));
  }
  return staged;
}

absl::Status Stager::Unstage(const std::string& volume_id, const std::string& staging_path) const {
  const auto target = RequestPath::Open(staging_path, "staging_target_path");
  if (!target.ok() && !absl::IsNotFound(target.status())) return target.status();
  std::optional<KeyLock::Guard> path_lock;
  if (target.ok()) {
    ASSIGN_OR_RETURN(KeyLock::Guard taken, LockPath(path_locks_, *target));
    path_lock.emplace(std::move(taken));
  }
  const std::string path = target.ok() ? target->path() : staging_path;
  const Teardown teardown = TeardownOf(pools_, state_.stages, volume_id, path);
  const auto record = state_.stages.Find(volume_id);
  if (IsElsewhere(pools_.devices(), record, teardown.uuid, path, target)) return absl::OkStatus();
  if (target.ok()) {
    ASSIGN_OR_RETURN(const bool free, UnmountStaged(*target, teardown));
    // Another volume is staged here. Of this one there may still be a device, if it was too.
    if (!free && !record.ok()) return absl::OkStatus();
  }
  const auto located = pools_.Locate(volume_id);
  if (absl::IsNotFound(located.status())) return absl::OkStatus();
  RETURN_IF_ERROR(located.status());
  const absl::Status detached = located->pool->UnmapDevice(located->id);
  if (absl::IsUnavailable(detached)) {
    // The record stays: with it the reconciler ends the stage once the pool's storage answers.
    LogWarning("unstage of volume {}: {}", volume_id, MessageOf(detached));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(detached);
  // A record without a device does not count, so a pod need not wait until it can be removed.
  const absl::Status removed = state_.stages.Remove(volume_id);
  if (!removed.ok()) LogWarning("unstage of volume {}: {}", volume_id, MessageOf(removed));
  return absl::OkStatus();
}

}  // namespace holdfast::node
