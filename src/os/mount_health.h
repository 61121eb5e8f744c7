// SPDX-License-Identifier: Apache-2.0
// Detects mounted filesystems that have stopped working, as far as the kernel shows it without I/O.
#pragma once

#include <string>

#include "os/mount_table.h"

namespace holdfast::os {

// What is wrong with the filesystem of the mount; empty if nothing is known to be. Seen are: a
// filesystem that turned read-only after an error although it was mounted read-write (ext, btrfs);
// one that says that it was shut down (ext, since Linux 6.15); one whose root cannot be inspected
// any more (xfs that was shut down). An ext filesystem that was shut down on an older kernel is not
// seen: only a write would show it.
[[nodiscard]] std::string ProblemOf(const MountEntry& mount);

// The problem of a filesystem that returned an error instead of an answer.
[[nodiscard]] std::string DeadFilesystem();

}  // namespace holdfast::os
