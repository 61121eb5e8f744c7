// SPDX-License-Identifier: Apache-2.0
// RBD images: making, looking, growing, blanking, removing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

// What Holdfast's images have: with an object map, deleting and comparing cost what is used, not
// the size. The kernel knows all of them since Linux 5.3.
inline constexpr std::uint64_t kImageFeatures = RBD_FEATURES_DEFAULT;

struct ImageFacts {
  std::string id;  // for ever: another one means another image of the same name
  Bytes size = 0;
  std::uint64_t features = 0;
  std::vector<std::string> watchers;  // addresses of the clients that have it open, but not our own
};

// The name of the image of a volume.
[[nodiscard]] std::string ImageName(const std::string& uuid);

// Thread-safe, as all of these. Errors as Cluster::Try. An image is opened read-only to be looked
// at: opening it for writing would ask the exclusive lock of whoever has it.

// Makes the image of exactly `size` bytes. OK if one of that size is there; ALREADY_EXISTS if one
// of another size is.
[[nodiscard]] absl::Status MakeImage(const CephPool& pool, const std::string& name, Bytes size,
                                     const std::string& data_pool);

// Nothing if there is no such image.
[[nodiscard]] absl::StatusOr<std::optional<ImageFacts>> InspectImage(const CephPool& pool,
                                                                     const std::string& name);

// Grows it to `size` bytes; a larger one stays as it is. FAILED_PRECONDITION if there is none.
[[nodiscard]] absl::Status GrowImage(const CephPool& pool, const std::string& name, Bytes size);

// Removes it. OK if there is none; UNAVAILABLE while a client has it open.
[[nodiscard]] absl::Status RemoveImage(const CephPool& pool, const std::string& name);

}  // namespace holdfast::rbd
