// SPDX-License-Identifier: Apache-2.0
// The only way to a mkfs: a volume gets its filesystem exactly once.
//
//   ready ──(blank? else stop)──> formatting ──mkfs──> formatted ──> mounts, data
//                                   │    ^
//                                   └────┘ killed: blank again, mkfs again; no data can exist,
//                                          because the first mount comes after "formatted"
//
// Whether to format is decided by the record, never by a probe alone: in state formatted, a missing
// or different filesystem is an error, whatever the device looks like.
#pragma once

#include "core/volume.h"
#include "os/block_device.h"
#include "pool/pool.h"

namespace holdfast::node {

// Brings an attached volume to state formatted, or checks that it still holds the recorded
// filesystem. Returns its device, which may be another one than before. The caller holds the
// volume's lock. FAILED_PRECONDITION when the device holds anything that is not the recorded
// filesystem (for a volume never formatted: anything at all); its bytes are left as they are.
// INTERNAL when mkfs failed or the device cannot be read; a repetition carries on.
[[nodiscard]] absl::StatusOr<os::BlockDevice> EnsureFormatted(pool::Pool& pool,
                                                              const Volume& volume,
                                                              const os::BlockDevice& device);

}  // namespace holdfast::node
