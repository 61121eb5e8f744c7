// SPDX-License-Identifier: Apache-2.0
// Operations on RBD images: make, inspect, grow, zero, remove.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/long_work.h"
#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

// What Holdfast's images have: with an object map, deleting and comparing cost what is used, not
// the size. The kernel knows all of them since Linux 5.3.
inline constexpr std::uint64_t kImageFeatures = RBD_FEATURES_DEFAULT;

struct ImageFacts {
  std::string id;  // permanent: another one means another image of the same name
  Bytes size = 0;
  std::uint64_t features = 0;
  std::vector<std::string> watchers;  // addresses of the clients that have it open, but not our own
};

// Thread-safe, as all of these. Errors as Cluster::Try. An image is opened read-only to be looked
// at: opening it for writing would take the exclusive lock from the client that has it.

// Makes the image of exactly `size` bytes. ALREADY_EXISTS if there is one: whether its making is
// under way, was cut short after some of its parts, or has ended does not show.
[[nodiscard]] absl::Status MakeImage(const CephPool& pool, const std::string& name, Bytes size,
                                     const std::string& data_pool);

// Nothing if there is no such image.
[[nodiscard]] absl::StatusOr<std::optional<ImageFacts>> InspectImage(const CephPool& pool,
                                                                     const std::string& name);

// Whether anything was ever written to it from byte `begin` on, and not discarded since: whether it
// has data objects there. False if there is no such image, or none that can be opened. Reads its
// object map only, if it has a good one; else it takes as long as the image has objects.
[[nodiscard]] absl::StatusOr<bool> HoldsData(const CephPool& pool, const std::string& name,
                                             Bytes begin);

// The bytes of the image's own objects, counted as whole objects. 0 if the image does not exist, or
// has snapshots, which would keep most of these objects. Takes as long as HoldsData.
[[nodiscard]] absl::StatusOr<Bytes> DataWithoutSnapshots(const CephPool& pool,
                                                         const std::string& name);

// Grows it to `size` bytes; a larger one stays as it is. FAILED_PRECONDITION if there is none.
[[nodiscard]] absl::Status GrowImage(const CephPool& pool, const std::string& name, Bytes size);

// Makes what librbd notes images in before it removes them. It would do so itself with the first
// removal, but cannot in a pool that is full by then.
[[nodiscard]] absl::Status MakeTrash(const CephPool& pool);

// Removes it. OK if there is none; UNAVAILABLE while a client has it open, and when it may be half
// removed. Not bounded in time: see ImageRemovals.
[[nodiscard]] absl::Status RemoveImage(const CephPool& pool, const std::string& name);

// The names of all images of the pool and name space, including those of other programs.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ListImages(const CephPool& pool);

// Removes images in bounded time. librbd removes an image in one call, which takes time in
// proportion to its objects and never returns if another client removes the same image at that time
// (seen in 16.2). A repeated call waits for the same removal. Thread-safe. Removals that are still
// under way when this ends go on until the process ends.
class ImageRemovals final {
 public:
  // Removes the image. OK if there is none; UNAVAILABLE while a client has it open, and while it is
  // still being removed; otherwise as Cluster::Try.
  [[nodiscard]] absl::Status Remove(const CephPool& pool, const std::string& name);

 private:
  LongWork removals_{std::chrono::seconds(20)};  // by image; less than CSI's sidecars wait
};

}  // namespace holdfast::rbd
