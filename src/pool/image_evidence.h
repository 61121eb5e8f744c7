// SPDX-License-Identifier: Apache-2.0
// What an image itself says of its use. Its record may be older than it: a backup read the small
// record before the large image, or somebody restored the record alone. So no image is blanked, cut
// or removed because its record says that it was never used; docs/on-disk.md has the whole rule.
#pragma once

#include <string>

#include "pool/volume_record.h"

namespace holdfast::pool {

// Notes with the image that it was formatted: an extended attribute, durable before this returns.
// OK without a note where the host filesystem keeps none or has no room for one; backup programs
// drop it, too, so that it is missing proves nothing. INTERNAL when the image cannot be synced.
[[nodiscard]] absl::Status MarkFormatted(int image_fd, const std::string& filesystem,
                                         const std::string& filesystem_uuid);

// The UUID of the filesystem that MarkFormatted noted, "" if there is no note. INTERNAL when there
// is one that cannot be read.
[[nodiscard]] absl::StatusOr<std::string> FormattedUuid(int image_fd);

// Whether any byte from `begin` on is other than zero. One system call where the host filesystem
// tells holes and unwritten extents from data (ext4, xfs, btrfs: lseek(2), SEEK_DATA); what it
// calls data is read up to the first such byte. INTERNAL when it cannot be read.
[[nodiscard]] absl::StatusOr<bool> HoldsData(int image_fd, Bytes begin = 0);

// OK if nothing was ever written to the image, as to that of a creation that was not completed.
// FAILED_PRECONDITION says that its record is older than it, and what to do.
[[nodiscard]] absl::Status RequireNeverUsed(int image_fd);

// OK if what is in a volume's directory may be removed because its record is `allocating` or
// `deleting`, without a call that asks for it now: an image of an unfinished creation was never
// used, and one with another filesystem than its tombstone names is a later volume of the same
// name. FAILED_PRECONDITION says so. OK for records in other states, of which nothing is removed.
[[nodiscard]] absl::Status RequireUnwanted(int directory_fd, const VolumeRecord& record);

}  // namespace holdfast::pool
