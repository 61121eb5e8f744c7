// SPDX-License-Identifier: Apache-2.0
#include "fs/mounted_volumes.h"

#include <utility>

#include "fs/filesystem.h"
#include "os/file.h"
#include "os/mount_table.h"

namespace holdfast::fs {

absl::StatusOr<os::UniqueFd> OpenMountedRoot(const os::BlockDevice& device,
                                             const std::string& mount_path) {
  ASSIGN_OR_RETURN(os::UniqueFd root, os::OpenDirectory(mount_path));
  ASSIGN_OR_RETURN(const dev_t behind, os::DeviceBehind(root.get(), mount_path));
  if (behind == device.number) return root;
  return Internal("{} is not mounted at '{}'", device.path, mount_path);
}

namespace {

// "loop3" of "/dev/loop3"; empty for another source, "tmpfs" for one.
std::string_view NameIn(std::string_view source) {
  constexpr std::string_view kDirectory = "/dev/";
  return source.starts_with(kDirectory) ? source.substr(kDirectory.size()) : "";
}

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

absl::StatusOr<std::map<std::string, std::string>> FindProblems(const os::DeviceOwners& devices) {
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  std::map<std::string, std::string> problems;
  std::map<dev_t, std::string> uuids;  // empty: not a volume, its mounts are skipped
  for (const os::MountEntry& mount : mounts.entries()) {
    if (!devices.MayHaveName(NameIn(mount.source))) continue;
    const auto [known, first] = uuids.try_emplace(mount.device);
    std::string& uuid = known->second;
    if (first) uuid = devices.OwnerOf(mount.device).value_or(os::DeviceOwner{}).uuid;
    if (uuid.empty()) continue;
    std::string problem = os::ProblemOf(mount);
    if (problem.empty() && first && HasRecordedErrors(mount)) problem = RecordedErrors();
    if (!problem.empty()) problems.try_emplace(uuid, std::move(problem));
  }
  return problems;
}

}  // namespace holdfast::fs
