// SPDX-License-Identifier: Apache-2.0
// Where the snapshot of a node's volume is, by its name.
#pragma once

#include <string>

#include "core/volume_id.h"
#include "link/hub.h"

namespace holdfast::controller {

// The id that the volume's snapshot of that name has or would have. UNAVAILABLE when its node is
// not connected; NOT_FOUND if the node has no such pool; INTERNAL if the pool's id is not known.
[[nodiscard]] absl::StatusOr<VolumeId> IdOfSnapshot(link::Hub& hub, const VolumeId& source,
                                                    const std::string& name,
                                                    link::Deadline deadline);

}  // namespace holdfast::controller
