// SPDX-License-Identifier: Apache-2.0
// Freezes mounted filesystems (ioctl_fsfreeze): the only way to have a log written back in place,
// and to detect that another program holds the filesystem frozen.
//
// The kernel does not record which process froze a filesystem, and any may thaw it. It does refuse
// to freeze one twice: a freeze that succeeded is the caller's own, until the caller ends it.
//
// Not for btrfs: a process that is killed while it thaws one leaves it read-only (Linux 6.18,
// btrfs_unfreeze: the thaw reads the superblock, and the kill interrupts that).
#pragma once

#include "core/status.h"

namespace holdfast::os {

// Freezes the filesystem of an open directory. Writers wait afterwards, and all data, including the
// superblock, is in its place on disk; fsync and syncfs only write the log. A process that is
// killed now leaves it frozen: note that it may happen before calling. FAILED_PRECONDITION when it
// is frozen already: then, and after any other error, the caller must not thaw it. Needs
// CAP_SYS_ADMIN.
[[nodiscard]] absl::Status Freeze(int directory_fd);

// Ends a freeze, whichever process began it. OK if there is none. A frozen filesystem that is
// unmounted stays in the kernel, and keeps its device, until it is mounted and thawed
// (freeze_super holds a reference, fs/super.c).
[[nodiscard]] absl::Status Thaw(int directory_fd);

// The same; false if there was none: another process ended it before.
[[nodiscard]] absl::StatusOr<bool> EndFreeze(int directory_fd);

// Freezes and thaws, for callers that cannot repair the state that a kill in between leaves.
[[nodiscard]] absl::Status FlushByFreezing(int directory_fd);

}  // namespace holdfast::os
