// SPDX-License-Identifier: Apache-2.0
// Paths of requests that mount something.
#pragma once

#include <string>

#include "os/target_path.h"

namespace holdfast::node {

// TargetPath::Open, except that a missing parent directory is FAILED_PRECONDITION: to a CO,
// NOT_FOUND means that there is no such volume.
[[nodiscard]] absl::StatusOr<os::TargetPath> OpenRequestPath(const std::string& path,
                                                             const std::string& field);

}  // namespace holdfast::node
