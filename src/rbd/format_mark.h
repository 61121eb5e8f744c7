// SPDX-License-Identifier: Apache-2.0
// The mark on an image that records how it was formatted.
//
// A volume's record can be older than its image: restored from a backup, or put back by hand. So
// the filesystem that an image was given is noted on the image, too, as image metadata
// (`rbd image-meta get IMAGE holdfast.formatted`), which librbd copies and exports with it.
#pragma once

#include <optional>
#include <string>

#include "pool/volume_record.h"
#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

inline constexpr char kFormatMark[] = "holdfast.formatted";
// Its key in the omap of the image's header, where the class "rbd" keeps metadata (cls_rbd.cc).
inline constexpr char kFormatMarkKey[] = "metadata_holdfast.formatted";

// Thread-safe. `image_id` is Ceph's own id of the image. Errors as Cluster::Try.

// The type and UUID of the filesystem, "ext4 0b5c..."; nothing if the image has no such mark, or if
// there is no such image.
[[nodiscard]] absl::StatusOr<std::optional<std::string>> ReadFormatMark(
    const CephPool& pool, const std::string& image_id);

// Sets the mark, in one atomic operation; it stays as long as the image. INTERNAL if there is no
// such image; ABORTED if the mark is refused: a node that was cut off while it formatted the image
// learns so that another one has taken it over.
[[nodiscard]] absl::Status SetFormatMark(const CephPool& pool, const std::string& image_id,
                                         const std::string& mark);

// Before an image is zeroed: from now on this mark is refused. FAILED_PRECONDITION if the image has
// a mark, whichever.
[[nodiscard]] absl::Status RefuseFormatMark(const CephPool& pool, const std::string& image_id,
                                            const std::string& mark);

// Removes the mark that librbd has copied with a clone. OK without one. INTERNAL if there is no
// such image.
[[nodiscard]] absl::Status RemoveFormatMark(const CephPool& pool, const std::string& image_id);

// The filesystem's UUID of a mark.
[[nodiscard]] std::string UuidOfMark(const std::string& mark);

// The mark of the image of a volume that was formatted as its record says.
[[nodiscard]] std::string MarkOf(const Volume& volume);

// FAILED_PRECONDITION: that the image has this mark, and its record does not know of it.
[[nodiscard]] absl::Status OlderThanImage(const pool::VolumeRecord& record,
                                          const std::string& mark);

}  // namespace holdfast::rbd
