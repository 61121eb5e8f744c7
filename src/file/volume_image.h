// SPDX-License-Identifier: Apache-2.0
// The image that a record is about. FAILED_PRECONDITION if it is missing: to a CO, NOT_FOUND means
// that there is no such volume.
#pragma once

#include "os/unique_fd.h"
#include "pool/volume_record.h"

namespace holdfast::file {

// `volumes_fd` is the directory of volume directories.
[[nodiscard]] absl::StatusOr<os::UniqueFd> OpenVolumeImage(int volumes_fd,
                                                           const pool::VolumeRecord& record);

// Read-only, also on a filesystem that has turned read-only.
[[nodiscard]] absl::StatusOr<os::UniqueFd> OpenVolumeImageToRead(int volumes_fd,
                                                                 const pool::VolumeRecord& record);

}  // namespace holdfast::file
