// SPDX-License-Identifier: Apache-2.0
// Freezing a mounted filesystem (ioctl_fsfreeze): the one way to have its log written back in
// place, and to learn whether another program holds it frozen.
//
// The kernel does not record which process froze a filesystem, and any may thaw it. It does refuse
// to freeze it twice: a freeze that succeeded is the caller's own, until the caller ends it.
//
// Not for btrfs: a process that is killed while it thaws one leaves it read-only (Linux 6.18,
// btrfs_unfreeze: the thaw reads the superblock, and the kill interrupts that).
#pragma once

#include "core/status.h"

namespace holdfast::os {

// Freezes the filesystem of an open directory. Writers wait from here on, and everything, the
// superblock included, is in its place on disk; fsync and syncfs only write the log. A process that
// is killed now leaves it frozen: note that it may happen before calling. FAILED_PRECONDITION when
// it is frozen already: then, and after any other error, the freeze is not the caller's to end.
// Needs CAP_SYS_ADMIN.
[[nodiscard]] absl::Status Freeze(int directory_fd);

// Ends a freeze, whichever process began it. OK if there is none. A frozen filesystem that is
// unmounted stays in the kernel, and keeps its device, until it is mounted and thawed
// (freeze_super holds a reference, fs/super.c).
[[nodiscard]] absl::Status Thaw(int directory_fd);

// Both, for callers that cannot repair what a kill in between leaves.
[[nodiscard]] absl::Status FlushByFreezing(int directory_fd);

}  // namespace holdfast::os
