// SPDX-License-Identifier: Apache-2.0
// How a loop device shows which volume's image it is. What the kernel keeps of a device says whose
// it is when the pool, the record or the file is gone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "os/device_owner.h"

namespace holdfast::file {

// The label that the kernel keeps (lo_file_name, 63 bytes): "holdfast:<uuid>:<pool tag>". The tag
// distinguishes a pool from its copies, whose volumes have the same UUIDs: a backup may be tried
// out by a second Holdfast on the same host.
[[nodiscard]] std::string LoopLabelOf(const std::string& uuid, const std::string& pool_tag);

// What the labels of all volumes begin with.
inline constexpr char kLoopLabelPrefix[] = "holdfast:";

// The volume in a label that LoopLabelOf can have made.
[[nodiscard]] std::optional<std::string> UuidOfLoopLabel(std::string_view label);

// The end of the path of a volume's image, whichever directory is the pool's (docs/on-disk.md).
[[nodiscard]] std::string ImagePathEnd(std::string_view uuid);

// The volume whose image can have this path.
[[nodiscard]] std::optional<std::string> UuidOfImagePath(std::string_view path);

// Identifies loop devices by their labels. Where the kernel does not show the label, because the
// disk with the image is dead, the image's path decides, which it still shows.
[[nodiscard]] os::DeviceProof LoopProof();

}  // namespace holdfast::file
