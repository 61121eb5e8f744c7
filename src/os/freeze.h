// SPDX-License-Identifier: Apache-2.0
// Freezing a mounted filesystem for a moment: the one way to have its log written back in place.
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast::os {

// FIFREEZE and at once FITHAW of the filesystem mounted at `path` (ioctl_fsfreeze): writers wait a
// moment, and everything, the superblock included, is in its place on disk afterwards; fsync and
// syncfs only write the log. A process killed between the two leaves the filesystem frozen: mark
// that it may happen before calling, and call Thaw afterwards. FAILED_PRECONDITION if somebody else
// holds it frozen. Needs CAP_SYS_ADMIN.
[[nodiscard]] absl::Status FlushByFreezing(const std::string& path);

// Ends a freeze that a killed process left. OK if it is not frozen, or nothing is there. A frozen
// filesystem that is unmounted stays in the kernel, and keeps its device, until somebody mounts and
// thaws it (freeze_super holds a reference, fs/super.c).
[[nodiscard]] absl::Status Thaw(const std::string& path);
// The same for the filesystem of an open directory.
[[nodiscard]] absl::Status Thaw(int directory_fd);

}  // namespace holdfast::os
