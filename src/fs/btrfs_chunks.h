// SPDX-License-Identifier: Apache-2.0
// Where a btrfs has its chunks. Its logical addresses are not those of the device: they have gaps,
// and grow without limit as chunks come and go.
#pragma once

#include <optional>

#include "core/status.h"
#include "fs/filesystem.h"

namespace holdfast::fs {

// The chunk that contains the logical address `from`, or the next one; nothing if there is none.
// INTERNAL if the chunk tree cannot be read. Needs CAP_SYS_ADMIN.
[[nodiscard]] absl::StatusOr<std::optional<AddressRange>> NextBtrfsChunk(int root_fd, Bytes from);

}  // namespace holdfast::fs
