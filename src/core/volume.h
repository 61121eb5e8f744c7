// SPDX-License-Identifier: Apache-2.0
// The properties of a volume, in the terms of the CSI contract but without protobuf.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/kubernetes_name.h"
#include "core/volume_id.h"

namespace holdfast {

// thick: every byte is allocated when the volume is made. thin: bytes are allocated when written.
enum class Provisioning { kThick, kThin };

// A raw block device is never formatted: applications wrote to it. It becomes a filesystem only if
// they have put one there (docs/adr/0029).
enum class AccessType { kMount, kBlock };

// CSI access modes (VolumeCapability.AccessMode.Mode).
enum class AccessMode {
  kSingleNodeWriter,
  kSingleNodeReaderOnly,
  kSingleNodeSingleWriter,
  kSingleNodeMultiWriter,
  kMultiNodeReaderOnly,
  kMultiNodeSingleWriter,
  kMultiNodeMultiWriter,
};

// The life of a volume according to its record; each step is durable before the act it announces.
enum class VolumeState {
  kAllocating,  // the image is being made; no CreateVolume has returned the volume
  kReady,       // usable; never formatted (for block volumes: the final state)
  kFormatting,  // mkfs may have started; no data can exist, no mount has happened
  kFormatted,   // a filesystem with the recorded UUID is there; it is never formatted again
  kInherited,   // holds a copied filesystem, which gets the recorded UUID; it is never formatted
  kCopying,     // a copy that is being made in steps: a snapshot that was cut, or a volume that no
                // CreateVolume has returned
  kCut,         // a member of a group snapshot that is cut, durably, while it is open whether the
                // group comes into being; no call returns it
  kDeleting,    // tombstone: what is left of the volume is to be removed
  kTrashed,     // deleted by its CO and kept for a while (docs/trash.md); no call finds it
};

// What a record describes. Snapshots have the same records, bytes and steps as volumes, but no
// device ever shows them, so their bytes never change.
enum class VolumeRole { kVolume, kSnapshot };

// The group snapshot that a snapshot was cut in, at one instant with the others.
struct SnapshotGroup {
  std::string id;                    // GroupIdOf
  std::vector<std::string> members;  // the ids of all its snapshots, sorted; the first one decides

  friend bool operator==(const SnapshotGroup&, const SnapshotGroup&) = default;
};

// What the first bytes of a volume or snapshot are a copy of.
struct ContentSource {
  VolumeRole role = VolumeRole::kVolume;
  VolumeId id;

  // As the CO names it.
  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const ContentSource&, const ContentSource&) = default;
};

[[nodiscard]] std::string_view ToString(Provisioning value);
[[nodiscard]] std::string_view ToString(AccessType value);
[[nodiscard]] std::string_view ToString(AccessMode value);
[[nodiscard]] std::string_view ToString(VolumeState value);
[[nodiscard]] std::string_view ToString(VolumeRole value);

// The inverse of ToString. INVALID_ARGUMENT for other text.
[[nodiscard]] absl::StatusOr<Provisioning> ParseProvisioning(std::string_view text);
[[nodiscard]] absl::StatusOr<AccessType> ParseAccessType(std::string_view text);
[[nodiscard]] absl::StatusOr<AccessMode> ParseAccessMode(std::string_view text);
[[nodiscard]] absl::StatusOr<VolumeState> ParseVolumeState(std::string_view text);
[[nodiscard]] absl::StatusOr<VolumeRole> ParseVolumeRole(std::string_view text);

// The sizes that a request allows.
struct CapacityRange {
  Bytes required = 0;  // 0: any
  Bytes limit = 0;     // 0: none

  // From the fields of csi.v1.CapacityRange. INVALID_ARGUMENT if one is negative or both are 0,
  // OUT_OF_RANGE if the limit is below what is required.
  [[nodiscard]] static absl::StatusOr<CapacityRange> Parse(std::int64_t required_bytes,
                                                           std::int64_t limit_bytes);
};

// How the bytes of a volume that is in use are copied.
struct CutOptions {
  bool freeze = true;  // filesystems that can be frozen; else only their writes so far are synced
  bool must_freeze = false;  // the caller counts on it: refuse where that cannot be done
  // Where the copy takes longer, it is refused, or given up.
  std::chrono::milliseconds longest_freeze{2000};
};

// A complete snapshot, as far as another pool has to know it in which a volume gets a copy of
// its bytes.
struct Content {
  Bytes capacity_bytes = 0;
  Bytes data_bytes = 0;  // without its holes
  std::uint32_t sector_size = 0;
  AccessType access_type = AccessType::kMount;
  std::string filesystem;
  std::vector<std::string> inherited_uuids;
  // Of these very bytes: another snapshot of the same name and size has another one.
  std::string version;

  friend bool operator==(const Content&, const Content&) = default;
};

struct VolumeSpec {
  VolumeRole role = VolumeRole::kVolume;
  std::string name;  // the CO's name: any Unicode, never used as a path
  CapacityRange capacity;
  Bytes minimum_bytes = 0;  // the least that the filesystem needs
  Provisioning provisioning = Provisioning::kThick;
  AccessType access_type = AccessType::kMount;
  std::string filesystem;                         // empty for block volumes
  std::vector<std::string> mkfs_options;          // checked argument vector
  std::map<std::string, std::string> parameters;  // StorageClass parameters, for comparison
  // A snapshot always has one, and all properties but name and parameters from it.
  std::optional<ContentSource> source;
  // Of a source in another pool, from which the bytes come (Pool::WriteContent). Without it the
  // source is in the same pool.
  std::optional<Content> content = {};
  CutOptions cut = {};
  // Of a snapshot that is only made so that a copy elsewhere has a source that does not change
  // (docs/adr/0032). `name` is that of the copy.
  bool hold = false;
  std::optional<SnapshotGroup> group = {};  // of a snapshot that is cut with others
  // A repetition may come without them, or with others: they are those of the first call.
  std::optional<RequestingObjects> requested_by = {};
  // How long it is kept when it is deleted; nothing: as long as the pool says.
  std::optional<std::chrono::seconds> keep_deleted = {};
};

struct Volume {
  VolumeRole role = VolumeRole::kVolume;
  VolumeId id;
  std::string name;
  Bytes capacity_bytes = 0;  // the size of the device, a multiple of kVolumeGranularity
  Provisioning provisioning = Provisioning::kThick;
  AccessType access_type = AccessType::kMount;
  VolumeState state = VolumeState::kAllocating;
  std::string filesystem;       // empty for block volumes
  std::string filesystem_uuid;  // set from kFormatting on
  std::vector<std::string> mkfs_options;
  std::map<std::string, std::string> parameters;
  std::string created_at;  // RFC 3339, UTC
  std::optional<ContentSource> source;
  // The UUIDs that the copied filesystem may have; none: the source was not formatted.
  std::vector<std::string> inherited_uuids;
  // Of a snapshot that is held for a copy elsewhere (VolumeSpec::hold): when that was last asked
  // for or read, RFC 3339. Empty otherwise.
  std::string held_at;

  [[nodiscard]] bool held() const { return !held_at.empty(); }
  std::optional<SnapshotGroup> group = {};                // of a snapshot that was cut with others
  std::optional<RequestingObjects> requested_by = {};     // in Kubernetes; nothing: not known
  std::optional<std::chrono::seconds> keep_deleted = {};  // as VolumeSpec::keep_deleted

  friend bool operator==(const Volume&, const Volume&) = default;
};

// Capacities are multiples of this: every filesystem and sector size in use divides it.
inline constexpr Bytes kVolumeGranularity = 4096;

// The capacity of a volume for which no size was requested.
inline constexpr Bytes kDefaultVolumeSize = kGiB;

// The capacity to give for a request: within the range, at least `minimum`, and a multiple of
// kVolumeGranularity. OUT_OF_RANGE when no such size exists.
[[nodiscard]] absl::StatusOr<Bytes> ChooseCapacity(const CapacityRange& range, Bytes minimum);

// The space that a pool still has for one kind of volume (GetCapacity).
struct PoolCapacity {
  Bytes available_bytes = 0;
  Bytes maximum_volume_bytes = 0;  // a CreateVolume of this size is accepted now
  Bytes minimum_volume_bytes = 0;
};

// Whether a volume works (VolumeCondition).
struct VolumeCondition {
  bool abnormal = false;
  std::string message;
  Bytes allocated = -1;  // by its storage, with what it shares; -1: not known
};

}  // namespace holdfast
