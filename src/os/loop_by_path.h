// SPDX-License-Identifier: Apache-2.0
// The last resort for finding a loop device: by the path that its image once had.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "os/loop_device.h"

namespace holdfast::os {

// The loop device whose backing file's path ends with `suffix`, as sysfs remembers it: also when
// the file is deleted or its filesystem is no longer mounted anywhere, where FindLoop has no file
// to ask about. `suffix` must be unique by itself, as a UUID is. FAILED_PRECONDITION if several
// fit.
[[nodiscard]] absl::StatusOr<std::optional<LoopDevice>> FindLoopByPath(const std::string& suffix);

}  // namespace holdfast::os
