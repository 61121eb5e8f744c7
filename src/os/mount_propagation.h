// SPDX-License-Identifier: Apache-2.0
// Whether mounts reach other mount name spaces (mount_namespaces(7)).
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast::os {

// Whether what is mounted below `path` reaches the name spaces that share its mount. False if the
// mount table cannot be read.
[[nodiscard]] bool IsMountShared(const std::string& path);

// FAILED_PRECONDITION, with the remedy, unless mounts below kubelet's directory `path` are shared:
// pods would find empty directories of the host in place of their volumes.
[[nodiscard]] absl::Status RequireSharedMounts(const std::string& path);

}  // namespace holdfast::os
