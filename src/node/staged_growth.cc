// SPDX-License-Identifier: Apache-2.0
#include "node/staged_growth.h"

#include "os/freeze.h"

namespace holdfast::node {

absl::Status GrowStaged(const fs::Filesystem& filesystem, const os::BlockDevice& device,
                        const std::string& mount_path, const pool::StageStore& stages,
                        pool::StageRecord& record) {
  if (record.growing) RETURN_IF_ERROR(os::Thaw(mount_path));
  record.growing = true;
  RETURN_IF_ERROR(stages.Write(record));
  const absl::Status grown = filesystem.Grow(device, mount_path);
  // What failed may have been the thaw. As long as it fails the mark stays, for the next call.
  if (!grown.ok() && !os::Thaw(mount_path).ok()) return grown;
  record.growing = false;
  const absl::Status unmarked = stages.Write(record);
  return grown.ok() ? unmarked : grown;
}

}  // namespace holdfast::node
