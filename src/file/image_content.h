// SPDX-License-Identifier: Apache-2.0
// The bytes of images on their way from one pool to another: reading those of a snapshot, and
// writing those of a volume that waits for them.
#pragma once

#include <memory>
#include <string>

#include "core/content.h"
#include "os/unique_fd.h"
#include "pool/pool.h"
#include "pool/volume_record.h"

namespace holdfast::file {

// What distinguishes the image from every other one that ever had its name: nothing is ever written
// to a snapshot's.
[[nodiscard]] absl::StatusOr<std::string> IdentityOf(int image_fd);

// Reads the first `size` bytes where there is data.
[[nodiscard]] std::unique_ptr<ContentReader> NewImageReader(os::UniqueFd image, Bytes size);

// Continues where the record says that the bytes have come to.
[[nodiscard]] std::unique_ptr<pool::ImageWriter> NewImageWriter(os::UniqueFd image,
                                                                const pool::CopyProgress& progress);

}  // namespace holdfast::file
