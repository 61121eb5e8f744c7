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

// The object with the header of the image that has this id, as librbd names it.
[[nodiscard]] inline std::string HeaderOf(const std::string& image_id) {
  return "rbd_header." + image_id;
}

// A snapshot of an image. Names of Holdfast's snapshots are made as those of images are, with the
// UUID of the snapshot, or of the volume that is being cloned.
struct SnapshotName {
  std::string image;
  std::string snapshot;

  // "image@snapshot", the name of a snapshot's bytes in its record.
  [[nodiscard]] std::string ToString() const { return image + '@' + snapshot; }
};
// Nothing if it is the name of an image.
[[nodiscard]] std::optional<SnapshotName> ParseSnapshotName(const std::string& name);

// The volume or snapshot whose record has that name of its bytes.
[[nodiscard]] std::optional<std::string> UuidOfBytes(const std::string& name);

// Identifies rbd devices by the names of their images.
[[nodiscard]] os::DeviceProof RbdProof();

}  // namespace holdfast::rbd
