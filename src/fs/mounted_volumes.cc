// SPDX-License-Identifier: Apache-2.0
#include "fs/mounted_volumes.h"

#include <utility>

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
  std::map<dev_t, std::string> uuids;  // empty: no volume's, whose mounts are not looked at
  for (const os::MountEntry& mount : mounts.entries()) {
    if (!mount.source.starts_with("/dev/loop") && !mount.source.starts_with("/dev/rbd")) continue;
    const auto [known, first] = uuids.try_emplace(mount.device);
    std::string& uuid = known->second;
    if (first) uuid = os::OwnerOf(mount.device).value_or(os::DeviceOwner{}).uuid;
    if (uuid.empty()) continue;
    std::string problem = os::ProblemOf(mount);
    if (problem.empty() && first && HasRecordedErrors(mount)) problem = RecordedErrors();
    if (!problem.empty()) problems.try_emplace(uuid, std::move(problem));
  }
  return problems;
}

}  // namespace holdfast::fs
