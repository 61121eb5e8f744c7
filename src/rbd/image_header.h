// SPDX-License-Identifier: Apache-2.0
// What the header of an image says of it and of its snapshots, asked without opening the image: an
// opening costs many round trips, and one for each parent. The header's object is named after the
// image's id, so the answers are those of that very image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/bytes.h"
#include "rbd/ceph_pool.h"
#include "rbd/image_name.h"

namespace holdfast::rbd {

// Permanent: neither is ever used again.
struct SnapshotIds {
  std::string image;
  std::uint64_t snapshot = 0;  // within the pool

  // "IMAGE@SNAPSHOT", as records and notes have it.
  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const SnapshotIds&, const SnapshotIds&) = default;
};
// Nothing if the text has another form.
[[nodiscard]] std::optional<SnapshotIds> ParseSnapshotIds(const std::string& text);

struct ImageSnapshot {
  enum class Kind {
    kNamed,
    kTrashed,  // removed, perhaps while it had clones: its name is gone, and it gets no more clones
    kOther,    // of a group, or of mirroring
  };
  std::uint64_t id = 0;
  std::string name;
  Bytes size = 0;
  Kind kind = Kind::kNamed;
};

struct HeaderSnapshot {
  ImageSnapshot snapshot;
  std::uint32_t clones = 0;
};

// Thread-safe, as all of these. Errors as Cluster::Try; INTERNAL if the answer cannot be parsed.

// The id of the image with this name; nullopt if there is none.
[[nodiscard]] absl::StatusOr<std::optional<std::string>> ReadImageId(const CephPool& pool,
                                                                     const std::string& name);

// The size of the image with this id, or of its snapshot with that id. Nothing if it does not
// exist.
[[nodiscard]] absl::StatusOr<std::optional<Bytes>> ReadImageSize(
    const CephPool& pool, const std::string& image_id, std::uint64_t snapshot = LIBRADOS_SNAP_HEAD);

// Nothing if the image or the snapshot does not exist.
[[nodiscard]] absl::StatusOr<std::optional<HeaderSnapshot>> ReadHeaderSnapshot(
    const CephPool& pool, const SnapshotIds& ids);

// The snapshot that the image was cloned from. Nothing if the image is not a clone, or does not
// exist.
[[nodiscard]] absl::StatusOr<std::optional<SnapshotIds>> ReadParentIds(const CephPool& pool,
                                                                       const std::string& image_id);

// The name of the image with this id; nullopt if there is none.
[[nodiscard]] absl::StatusOr<std::optional<std::string>> ReadImageName(const CephPool& pool,
                                                                       const std::string& image_id);

// What has to be known of a clone that was just made, in one round trip.
struct CloneFacts {
  std::optional<SnapshotIds> parent;
  Bytes size = 0;
  std::optional<std::string> mark;  // its format mark (rbd/format_mark.h)
};
// ABORTED if the image does not exist any more.
[[nodiscard]] absl::StatusOr<CloneFacts> ReadCloneFacts(const CephPool& pool,
                                                        const std::string& image_id);

enum class Trashing {
  kDone,       // or was done before
  kHasClones,  // it stays as it is
  kIsGone,     // the image or the snapshot does not exist
};
// Unless the snapshot has clones, takes its name away and forbids clones of it, in one atomic
// operation. FAILED_PRECONDITION if it is protected, which Holdfast never does.
[[nodiscard]] absl::StatusOr<Trashing> TrashSnapshotWithoutClones(const CephPool& pool,
                                                                  const SnapshotIds& ids);

}  // namespace holdfast::rbd
