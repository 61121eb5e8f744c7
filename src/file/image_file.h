// SPDX-License-Identifier: Apache-2.0
// The image file that holds a volume's bytes: allocation, growth, blanking. Failing for lack of
// room is RESOURCE_EXHAUSTED, a size that the host filesystem cannot hold OUT_OF_RANGE, all else
// INTERNAL; an image that is a mount point of another filesystem is FAILED_PRECONDITION.
#pragma once

#include <optional>
#include <string>

#include "core/volume.h"
#include "os/unique_fd.h"

namespace holdfast::file {

// The error of a system call that allocates, by the rule above.
[[nodiscard]] absl::Status AllocationError(int error_number, std::string_view what);

// Makes a new image without any bytes, mode 0600, its name not durable. ALREADY_EXISTS if there is
// one. On a copy-on-write host filesystem it is marked NOCOW, which can only be done while it is
// empty: otherwise an overwrite would need new space, and thick would not be thick.
[[nodiscard]] absl::StatusOr<os::UniqueFd> CreateImage(int directory_fd);

// Makes a new image of `size` bytes, mode 0600, that reads as zeros; its data and size are durable,
// its name is when the directory is synced. Errors as of CreateImage.
[[nodiscard]] absl::Status MakeImage(int directory_fd, Bytes size, Provisioning provisioning);

// Opens the image for reading and writing. NOT_FOUND if there is none.
[[nodiscard]] absl::StatusOr<os::UniqueFd> OpenImage(int directory_fd);

// Opens the image read-only, if there is one that a device can show: also on a
// filesystem that has turned read-only. Nothing if no regular file has its name.
[[nodiscard]] absl::StatusOr<std::optional<os::UniqueFd>> OpenImageReadOnly(int directory_fd);

[[nodiscard]] absl::StatusOr<Bytes> ImageSize(int image_fd);
[[nodiscard]] absl::StatusOr<Bytes> ImageAllocated(int image_fd);

// Makes the image at least `size` bytes large, durably; the new bytes read as zeros and, for thick
// volumes, all bytes are allocated.
[[nodiscard]] absl::Status ExtendImage(int image_fd, Bytes size, Provisioning provisioning);

// Cuts off what ExtendImage added beyond `size`, durably. The caller has made sure that these bytes
// were never used.
[[nodiscard]] absl::Status CutOffImage(int image_fd, Bytes size);

// Allocates the holes of a thick image again (its data stays). Cheap when there are none.
[[nodiscard]] absl::Status RefillHoles(int image_fd, Bytes size);

// Why an overwrite of a thick image may need new space, in words for people; empty if it needs none
// as far as was looked: where the host filesystem copies on write, whether the image is exempt from
// that (btrfs: NOCOW), and whether another file shares its blocks (xfs, btrfs: a reflink copy or a
// snapshot). That is not looked at where the pool has copies of its own (`has_copies`): those have
// their room reserved. Inspects only the first kExtentsLookedAt extents, so the cost is bounded.
inline constexpr std::size_t kExtentsLookedAt = 1024;
[[nodiscard]] std::string WhyNotThick(int image_fd, bool has_copies);

// Makes every byte zero again, keeping size and, for thick volumes, allocation; durable. The caller
// has made sure that the image was never formatted.
[[nodiscard]] absl::Status ZeroImage(int image_fd, Bytes size, Provisioning provisioning);

}  // namespace holdfast::file
