// SPDX-License-Identifier: Apache-2.0
#include "fs/ext_identity.h"

#include <fcntl.h>

#include <vector>

#include "fs/ext_growth.h"
#include "fs/ext_superblock.h"
#include "fs/ext_undo.h"
#include "fs/format_programs.h"

namespace holdfast::fs {

absl::Status ChangeUuidUnmounted(const os::BlockDevice& device, const std::string& uuid,
                                 const std::string& undo_path) {
  // Held open, so that what is read of the device is read once; the kernel's ext4 shares this
  // cache.
  ASSIGN_OR_RETURN(const os::UniqueFd open, os::OpenBlockDevice(device, O_RDONLY));
  // tune2fs refuses a journal that is not empty.
  if (!IsCleanExt(device)) RETURN_IF_ERROR(RepairUnmounted(device, undo_path));
  if (CanWriteExtUuid(device)) {
    return ChangeSuperblockWithUndo(device, undo_path, [&] { return WriteExtUuid(device, uuid); });
  }
  ASSIGN_OR_RETURN(const ExtSuperblock superblock, ReadExtSuperblock(device, Mounted::kNo));
  std::vector<std::string> argv = {"tune2fs", "-U", uuid};
  // Checksums begin with the UUID unless the superblock names another seed: with one, only the
  // superblocks change, without, all metadata (Linux 4.4, e2fsprogs 1.43).
  if (superblock.has_checksums) argv.insert(argv.end(), {"-O", "metadata_csum_seed"});
  argv.push_back(device.path);
  // The older checksums of group descriptors (uninit_bg) cover the UUID as well.
  const bool superblocks_only = superblock.has_checksums || !superblock.has_group_checksums;
  ASSIGN_OR_RETURN(const os::CommandResult result,
                   RunWithUndo({.argv = argv,
                                .successes = 0,
                                .deadline = kMaintenanceDeadline,
                                .changes_superblocks_only = superblocks_only,
                                .verify = nullptr},
                               device, undo_path));
  if (result.signal == 0 && result.exit_code == 0) return absl::OkStatus();
  return Internal("cannot change the UUID of the filesystem on {}: tune2fs ended with {}",
                  device.path, DescribeEnd(result));
}

}  // namespace holdfast::fs
