// SPDX-License-Identifier: Apache-2.0
// The file that distinguishes a pool's directory from the mount point of a missing disk, and what
// else may lie beside it.
#pragma once

#include <string>

#include "core/disk_names.h"
#include "core/status.h"

namespace holdfast::file {

struct PoolMarker {
  std::string text;        // the file's exact content
  std::string pool_id;     // a UUID
  std::string filesystem;  // os::FilesystemIdentity of where it was written
};

// The marker in the open directory; the state directory keeps copies under other names. NOT_FOUND
// if there is none, INTERNAL if it is damaged.
[[nodiscard]] absl::StatusOr<PoolMarker> ReadPoolMarker(int directory_fd,
                                                        const std::string& name = kPoolMarkerName);

// Writes it, durably.
[[nodiscard]] absl::StatusOr<PoolMarker> WritePoolMarker(int directory_fd,
                                                         const std::string& pool_id,
                                                         const std::string& filesystem);

// The first name that keeps a directory without a marker from becoming a new pool, because
// something else lives there; empty if nothing does.
[[nodiscard]] absl::StatusOr<std::string> FindForeignName(int directory_fd);

}  // namespace holdfast::file
