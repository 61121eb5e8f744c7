// SPDX-License-Identifier: Apache-2.0
// The table of the filesystems (filesystems.cc), and what is in it; each lives as long as the
// process.
#pragma once

#include "fs/filesystem.h"

namespace holdfast::fs {

[[nodiscard]] const Filesystem& Ext3();
[[nodiscard]] const Filesystem& Ext4();
[[nodiscard]] const Filesystem& Xfs();
[[nodiscard]] const Filesystem& Btrfs();

}  // namespace holdfast::fs
