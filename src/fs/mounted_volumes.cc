// SPDX-License-Identifier: Apache-2.0
#include "fs/mounted_volumes.h"

#include <set>

#include "fs/filesystem.h"
#include "os/device_owner.h"
#include "os/mount_health.h"
#include "os/mount_table.h"

namespace holdfast::fs {
namespace {

bool HasRecordedErrors(const os::MountEntry& mount) {
  const Filesystem* const filesystem = FindFilesystem(mount.filesystem);
  if (filesystem == nullptr) return false;
  const auto device = os::InspectBlockDevice(mount.source);
  return device.ok() && device->number == mount.device && filesystem->HasRecordedErrors(*device);
}

}  // namespace

std::string RecordedErrors() {
  return "the filesystem has recorded errors and may be read-only; it is checked before it is "
         "staged next, see the kernel's log";
}

absl::StatusOr<std::map<std::string, std::string>> FindProblems() {
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  std::map<std::string, std::string> problems;
  std::set<dev_t> read;
  for (const os::MountEntry& mount : mounts.entries()) {
    if (!mount.source.starts_with("/dev/loop") && !mount.source.starts_with("/dev/rbd")) continue;
    std::string problem = os::ProblemOf(mount);
    if (problem.empty() && read.insert(mount.device).second && HasRecordedErrors(mount)) {
      problem = RecordedErrors();
    }
    if (problem.empty()) continue;
    const auto owner = os::OwnerOf(mount.device);
    if (owner.ok() && owner->kind == os::DeviceOwner::Kind::kVolume) {
      problems.try_emplace(owner->uuid, std::move(problem));
    }
  }
  return problems;
}

}  // namespace holdfast::fs
