// SPDX-License-Identifier: Apache-2.0
// What an image itself shows of its use: the evidence that pool/volume_evidence.h asks for.
#pragma once

#include <string>

#include "core/volume.h"

namespace holdfast::file {

// Notes with the image that it was formatted: an extended attribute, durable before this returns.
// OK without a note where the host filesystem keeps none or has no room for one; backup programs
// drop it, too, so that it is missing proves nothing. INTERNAL when the image cannot be synced.
[[nodiscard]] absl::Status MarkFormatted(int image_fd, const std::string& filesystem,
                                         const std::string& filesystem_uuid);

// The UUID of the filesystem that MarkFormatted noted, "" if there is no note. INTERNAL when there
// is one that cannot be read.
[[nodiscard]] absl::StatusOr<std::string> FormattedUuid(int image_fd);

// Whether any byte from `begin` on is other than zero. One system call where the host filesystem
// distinguishes holes and unwritten extents from data (ext4, xfs, btrfs: lseek(2), SEEK_DATA); what
// it calls data is read up to the first such byte. INTERNAL when it cannot be read.
[[nodiscard]] absl::StatusOr<bool> HoldsData(int image_fd, Bytes begin = 0);

}  // namespace holdfast::file
