// SPDX-License-Identifier: Apache-2.0
// The directory of Holdfast's own state, which one process has at a time.
#pragma once

#include <string>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::server {

struct StateDirectory {
  os::UniqueFd directory;
  os::UniqueFd lock;  // held until it is closed
};

// Makes the directory if need be. FAILED_PRECONDITION when another process has it.
[[nodiscard]] absl::StatusOr<StateDirectory> TakeStateDirectory(const std::string& path);

}  // namespace holdfast::server
