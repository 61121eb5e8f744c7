// SPDX-License-Identifier: Apache-2.0
#include "node/volume_stats.h"

#include <sys/stat.h>

#include "fs/filesystem.h"
#include "os/mount_table.h"
#include "os/target_path.h"

namespace holdfast::node {
namespace {

absl::Status NotAtPath(const VolumeId& id, const std::string& path) {
  return NotFound("volume '{}' is not at '{}'", id.ToString(), path);
}

absl::StatusOr<os::UniqueFd> OpenPath(const std::string& path) {
  ASSIGN_OR_RETURN(const os::TargetPath target, os::TargetPath::Open(path, "volume_path"));
  return target.OpenHandle();
}

// A mount that was asked for read-write on a filesystem that is read-only: the kernel gave it up.
absl::StatusOr<bool> WentReadOnly(const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  for (const os::MountEntry* entry : mounts.OfDevice(device.number)) {
    if (entry->filesystem_read_only && entry->mount_options.starts_with("rw")) return true;
  }
  return false;
}

VolumeCondition ConditionOf(pool::Pool& pool, const Volume& volume, const os::BlockDevice& device,
                            const os::FilesystemSpace& space) {
  if (space.read_only && WentReadOnly(device).value_or(true)) {
    return VolumeCondition{true,
                           "the filesystem went read-only after an error; see the kernel's log"};
  }
  const fs::Filesystem* const filesystem = fs::FindFilesystem(volume.filesystem);
  if (filesystem != nullptr && filesystem->HasRecordedErrors(device)) {
    return VolumeCondition{true,
                           "the filesystem has recorded errors and may be read-only; it is checked "
                           "before it is staged next, see the kernel's log"};
  }
  return pool.Condition(volume);
}

}  // namespace

absl::StatusOr<VolumeStats> MeasureVolume(const pool::Pools& pools, const std::string& volume_id,
                                          const std::string& path) {
  ASSIGN_OR_RETURN(const auto located, pools.Locate(volume_id));
  ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
  ASSIGN_OR_RETURN(const auto device, located.pool->FindAttached(located.id));
  if (!device || !path.starts_with('/')) return NotAtPath(located.id, path);
  const auto opened = OpenPath(path);
  if (absl::IsNotFound(opened.status())) return NotAtPath(located.id, path);
  RETURN_IF_ERROR(opened.status());
  const os::UniqueFd& handle = *opened;
  VolumeStats stats{.access_type = volume.access_type,
                    .capacity = device->size,
                    .filesystem = {},
                    .condition = {}};
  if (volume.access_type == AccessType::kBlock) {
    struct stat facts {};
    if (::fstat(handle.get(), &facts) != 0 || !S_ISBLK(facts.st_mode) ||
        facts.st_rdev != device->number) {
      return NotAtPath(located.id, path);
    }
    stats.condition = located.pool->Condition(volume);
    return stats;
  }
  ASSIGN_OR_RETURN(const dev_t behind, os::DeviceBehind(handle.get(), path));
  if (behind != device->number) return NotAtPath(located.id, path);
  ASSIGN_OR_RETURN(stats.filesystem, os::MeasureFilesystem(handle.get()));
  stats.condition = ConditionOf(*located.pool, volume, *device, stats.filesystem);
  return stats;
}

}  // namespace holdfast::node
