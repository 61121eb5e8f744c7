// SPDX-License-Identifier: Apache-2.0
// Gives an ext filesystem another UUID: by a write of its superblock, where that is enough, or by
// tune2fs(8).
#pragma once

#include <string>

#include "os/block_device.h"

namespace holdfast::fs {

// Filesystem::ChangeUuid. What a kill leaves is undone by UndoInterrupted (fs/ext_undo.h).
[[nodiscard]] absl::Status ChangeUuidUnmounted(const os::BlockDevice& device,
                                               const std::string& uuid,
                                               const std::string& undo_path);

}  // namespace holdfast::fs
