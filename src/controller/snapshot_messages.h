// SPDX-License-Identifier: Apache-2.0
// Snapshots as CSI describes them.
#pragma once

#include "core/volume.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

// Without the group that it may be part of: it can be restored and deleted by itself
// (docs/adr/0030).
[[nodiscard]] csi::v1::Snapshot DescribeSnapshot(const Volume& snapshot);

}  // namespace holdfast::controller
