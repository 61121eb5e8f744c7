// SPDX-License-Identifier: Apache-2.0
// Another UUID for a btrfs whose blocks must stay as they are: the superblock keeps the old one as
// metadata_uuid (Linux 5.0), which every block names. btrfstune cannot do that where there is a log
// to replay, which it would overwrite or leave with the old UUID, and so make unreadable.
#pragma once

#include <string>

#include "core/status.h"
#include "os/block_device.h"

namespace holdfast::fs {

// Whether only ChangeBtrfsSuperblock can give it another UUID: it has a log to replay, or it was
// done to it before. INTERNAL if the device cannot be read.
[[nodiscard]] absl::StatusOr<bool> KeepsMetadataUuid(const os::BlockDevice& device);

// The filesystem is not mounted. Durable before it returns; may be repeated. FAILED_PRECONDITION if
// its checksums are not CRC-32C, mkfs's default, which alone is known here, or if the superblock is
// damaged; INTERNAL if the device cannot be read or written.
[[nodiscard]] absl::Status ChangeBtrfsSuperblock(const os::BlockDevice& device,
                                                 const std::string& uuid);

}  // namespace holdfast::fs
