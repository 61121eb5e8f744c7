// SPDX-License-Identifier: Apache-2.0
// Raw block volumes that hold a filesystem: a data mover of a backup tool has written them as block
// devices, and pods use them as filesystems.
#pragma once

#include <string>

#include "core/volume.h"
#include "os/block_device.h"
#include "pool/pool.h"

namespace holdfast::node {

// Makes the attached volume, for which IsToBeTakenOver is true, a filesystem volume, if it holds
// exactly one known filesystem, the wanted one (empty: any). Its next step is the one of a copied
// filesystem (EnsureFormatted). Nothing is written to the device. The volume as it is then.
// FAILED_PRECONDITION, with the volume as before, if it holds anything else, or nothing.
[[nodiscard]] absl::StatusOr<Volume> TakeOverFilesystem(pool::Pool& pool, const Volume& volume,
                                                        const os::BlockDevice& device,
                                                        const std::string& wanted);

}  // namespace holdfast::node
