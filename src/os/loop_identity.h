// SPDX-License-Identifier: Apache-2.0
// Whose a loop device is, from the kernel alone: no file, pool or record is asked.
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

// All bound loop devices whose label begins with `prefix`, in no order, also those whose file has
// been deleted. Some 10 us per device of the host; one that cannot be looked at is passed over.
[[nodiscard]] std::vector<LoopLabel> LoopLabels(const std::string& prefix);

// The devices of exactly this label.
[[nodiscard]] absl::StatusOr<std::vector<LoopDevice>> FindLoopsByLabel(const std::string& label);

struct LoopIdentity {
  // LoopOptions::label, or what another program put there. Nothing where the kernel does not show
  // it, because what carries the file is dead; then `path` is all there is.
  std::optional<std::string> label;
  std::string path;  // without a label: of the file, as sysfs remembers it, deleted or not
};

// Nothing if no file is bound to the number `index`. INTERNAL if it cannot be looked at.
[[nodiscard]] absl::StatusOr<std::optional<LoopIdentity>> IdentifyLoop(int index);

}  // namespace holdfast::os
