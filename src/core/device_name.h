// SPDX-License-Identifier: Apache-2.0
// The names under which the kernel knows the devices of volumes. They are made when a device is
// made and go with it, so they tell whose it is when its pool, record or file has gone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// ---- loop devices: a label that the kernel keeps (lo_file_name, 63 bytes)

// "holdfast:<uuid>:<pool tag>". The tag tells a pool from its copies, whose volumes have the same
// UUIDs: a backup may be tried out by a second Holdfast on the same host.
[[nodiscard]] std::string LoopLabelOf(const std::string& uuid, const std::string& pool_tag);

// What the labels of all volumes begin with.
inline constexpr char kLoopLabelPrefix[] = "holdfast:";

// The volume in a label that LoopLabelOf can have made.
[[nodiscard]] std::optional<std::string> UuidOfLoopLabel(std::string_view label);

// The end of the path of a volume's image, whichever directory is the pool's (docs/on-disk.md).
[[nodiscard]] std::string ImagePathEnd(std::string_view uuid);

// The volume whose image can have this path.
[[nodiscard]] std::optional<std::string> UuidOfImagePath(std::string_view path);

// ---- rbd devices: the name of the image

// What the names of all images of the volume, or of all volumes, begin with.
[[nodiscard]] std::string ImagePrefix(const std::string& uuid);
inline constexpr char kImagePrefix[] = "holdfast-";
// Of the part by chance that follows.
inline constexpr std::size_t kImageChanceSize = 8;

// The volume in a name that Holdfast can have given to an image.
[[nodiscard]] std::optional<std::string> UuidOfImage(const std::string& name);

}  // namespace holdfast
