// SPDX-License-Identifier: Apache-2.0
// Holding back the writers of a mounted volume while its bytes are copied. Pools know no
// filesystems, so the node supplies it (node/quiesced_volume.h).
#pragma once

#include <functional>
#include <memory>

#include "core/volume.h"
#include "os/block_device.h"

namespace holdfast::pool {

// Writers wait until this ends; it ends by itself after CutOptions::longest_freeze, also when the
// process hangs or dies.
class Quiet {
 public:
  virtual ~Quiet() = default;

  // Lets the writers go on. ABORTED if they went on before: what was copied meanwhile may be torn.
  // INTERNAL if that cannot be found out.
  [[nodiscard]] virtual absl::Status End() = 0;
};

// Null if nothing can be held back, or is to be: a raw device, a filesystem that is not frozen
// (btrfs), options without a freeze. What was written through a mounted filesystem is on the device
// before this returns. The caller holds the volume's lock. FAILED_PRECONDITION while another
// program holds the filesystem frozen.
using Quiesce = std::function<absl::StatusOr<std::unique_ptr<Quiet>>(
    const VolumeId& id, const os::BlockDevice& device, const CutOptions& options)>;

}  // namespace holdfast::pool
