// SPDX-License-Identifier: Apache-2.0
// The names of images, by which an rbd device shows which volume's it is.
#pragma once

#include <optional>
#include <string>

#include "os/device_owner.h"

namespace holdfast::rbd {

// What the names of all images of the volume, or of all volumes, begin with.
[[nodiscard]] std::string ImagePrefix(const std::string& uuid);
inline constexpr char kImagePrefix[] = "holdfast-";

// Generates an image name from the UUID and a random suffix. Names are never reused, so a late
// removal cannot hit a newer image.
[[nodiscard]] std::string NewImageName(const std::string& uuid);

// The volume in a name that NewImageName can have made.
[[nodiscard]] std::optional<std::string> UuidOfImage(const std::string& name);

// Identifies rbd devices by the names of their images.
[[nodiscard]] os::DeviceProof RbdProof();

}  // namespace holdfast::rbd
