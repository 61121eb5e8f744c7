// SPDX-License-Identifier: Apache-2.0
#include "fs/mounted_root.h"

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

}  // namespace holdfast::fs
