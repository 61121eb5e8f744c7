// SPDX-License-Identifier: Apache-2.0
// Notes that are kept with an image, as extended attributes. Host filesystems may keep none or have
// no room for one, and backup programs drop them, so that a missing one proves nothing.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace holdfast::file {

// Writes the attribute `name`, durably; false where there can be none. INTERNAL when the image
// cannot be synced. `name` begins with "trusted.": only a process with CAP_SYS_ADMIN sees and
// changes those.
[[nodiscard]] absl::StatusOr<bool> WriteMark(int image_fd, const char* name, std::string_view text);

// Its text, "" if there is none. INTERNAL when there is one that cannot be read.
[[nodiscard]] absl::StatusOr<std::string> ReadMark(int image_fd, const char* name);

}  // namespace holdfast::file
