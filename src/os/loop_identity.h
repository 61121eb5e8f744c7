// SPDX-License-Identifier: Apache-2.0
// The owner of a loop device, from the kernel alone: no file, pool or record is read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "os/loop_device.h"

namespace holdfast::os {

struct LoopLabel {
  int index = -1;
  std::string label{};
};

// All bound loop devices whose label begins with `prefix`, in no particular order, including those
// whose file has been deleted. About 10 us per device of the host; skips a device that cannot be
// inspected.
[[nodiscard]] std::vector<LoopLabel> LoopLabels(const std::string& prefix);

// The devices with exactly this label.
[[nodiscard]] absl::StatusOr<std::vector<LoopDevice>> FindLoopsByLabel(const std::string& label);

struct LoopIdentity {
  // LoopOptions::label, or what another program put there. Nothing where the kernel does not show
  // it, because what carries the file is dead; then `path` is all there is.
  std::optional<std::string> label;
  std::string path;  // only without a label: the file's path in sysfs, deleted or not
};

// Nothing if no file is bound to the number `index`. INTERNAL if it cannot be inspected.
[[nodiscard]] absl::StatusOr<std::optional<LoopIdentity>> IdentifyLoop(int index);

}  // namespace holdfast::os
