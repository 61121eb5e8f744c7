// SPDX-License-Identifier: Apache-2.0
// The only way to a mkfs: a volume gets its filesystem exactly once.
//
//   ready ──(blank? else stop)──> formatting ──mkfs──> formatted ──> mounts, data
//                                   │    ^
//                                   └────┘ killed: blank again, mkfs again; no data can exist,
//                                          because the first mount comes after "formatted"
//
// A probe by itself never leads to a mkfs: in state formatted, a missing or different filesystem is
// an error, whatever the device looks like. Nor does a record by itself, which may be older than
// the bytes: a filesystem that was finished or mounted is kept, and the record brought up to date.
#pragma once

#include "core/volume.h"
#include "os/block_device.h"
#include "pool/pool.h"

namespace holdfast::node {

struct FormattedDevice {
  os::BlockDevice device;  // may be another one than before
  bool is_new = false;     // the filesystem was made just now: there is nothing to check or to grow
};

// Brings an attached volume to state formatted, or checks that it still holds the recorded
// filesystem. The caller holds the volume's lock. FAILED_PRECONDITION when the device holds
// anything that is not the recorded filesystem (for a volume never formatted: anything at all,
// unless the pool noted with the bytes that it is the volume's own); its bytes are left as they
// are. INTERNAL when mkfs failed or the device cannot be read; a repetition continues.
// `undo_path` as in Filesystem::ChangeUuid.
[[nodiscard]] absl::StatusOr<FormattedDevice> EnsureFormatted(pool::Pool& pool,
                                                              const Volume& volume,
                                                              const os::BlockDevice& device,
                                                              const std::string& undo_path);

}  // namespace holdfast::node
