// SPDX-License-Identifier: Apache-2.0
// Files that are overwritten in place on filesystems that would rather copy.
#pragma once

#include "core/status.h"

namespace holdfast::os {

// Marks an empty regular file NOCOW where the host filesystem copies on write and knows the flag
// (btrfs, chattr(1) +C); does nothing elsewhere. INTERNAL when the flag cannot be set.
[[nodiscard]] absl::Status DisableCopyOnWrite(int file_fd);

}  // namespace holdfast::os
