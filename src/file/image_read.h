// SPDX-License-Identifier: Apache-2.0
// Reading an image once, for itself and not for programs that use the volume.
#pragma once

#include <string>

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast::file {

// Fills `bytes`, as long as it is, from `at` on, and leaves nothing of it in the page cache.
// INTERNAL if it cannot be read, or the image is shorter.
[[nodiscard]] absl::Status ReadImage(int image_fd, std::string& bytes, Bytes at);

}  // namespace holdfast::file
