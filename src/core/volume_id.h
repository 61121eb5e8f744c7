// SPDX-License-Identifier: Apache-2.0
// The volume id that the CO stores permanently: it names the pool that owns the bytes, and the node
// if one node holds them, so there is no look-up table that could be lost.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"

namespace holdfast {

// "<pool>:<node>:<uuid>", at most 128 bytes (the CSI limit for strings).
struct VolumeId {
  std::string pool;  // name of the pool as configured
  std::string node;  // node that holds the bytes; empty: every node reaches them
  std::string uuid;  // lower-case UUID, unique in its pool, derived from the CO's name

  [[nodiscard]] std::string ToString() const;

  // nothing when `text` was not made by ToString: such a volume cannot exist.
  [[nodiscard]] static std::optional<VolumeId> Parse(std::string_view text);

  friend bool operator==(const VolumeId&, const VolumeId&) = default;
};

// The id of a snapshot as the CO stores it: "s:" and where its bytes are, as in a volume's id. No
// volume's id is like it.
[[nodiscard]] std::string ToSnapshotId(const VolumeId& place);
// The inverse; nothing when `text` was not made by ToSnapshotId: such a snapshot cannot exist.
[[nodiscard]] std::optional<VolumeId> ParseSnapshotId(std::string_view text);

// The id of the group snapshot that this driver makes under the name: "g:<uuid>". It follows from
// both, so no list of groups has to be kept. No id of a volume or snapshot is like it.
[[nodiscard]] std::string GroupIdOf(const std::string& driver_name, std::string_view name);
// Whether GroupIdOf can have made it: no other group exists.
[[nodiscard]] bool IsGroupId(std::string_view text);
// The name of the group's snapshot of the volume with that UUID, which no CO gives.
[[nodiscard]] std::string GroupMemberName(const std::string& group_id,
                                          const std::string& volume_uuid);
// The id of the group of which a snapshot of that name is a member; nothing if it is of none.
[[nodiscard]] std::optional<std::string> GroupOfMemberName(std::string_view name);

// 1..24 characters of [a-z0-9-], not beginning or ending with '-'.
// INVALID_ARGUMENT otherwise.
[[nodiscard]] absl::Status ValidatePoolName(std::string_view name);

// 1..63 characters of [A-Za-z0-9._-], first and last alphanumeric: a node name is also a topology
// value, and Kubernetes keeps those as label values. INVALID_ARGUMENT otherwise.
[[nodiscard]] absl::Status ValidateNodeId(std::string_view node_id);

// True for 36 characters of lower-case UUID text.
[[nodiscard]] bool IsUuid(std::string_view text);

// The version-5 UUID of `name` in the name space of `pool_id` (itself a UUID): the same name in the
// same pool is the same volume, which makes CreateVolume idempotent without a journal.
// INTERNAL if `pool_id` is not a UUID.
[[nodiscard]] absl::StatusOr<std::string> UuidOfName(const std::string& pool_id,
                                                     std::string_view name);

// The name, in a pool's name space, of the one in which its snapshots have their UUIDs.
inline constexpr char kSnapshots[] = "snapshots";
// The name space in which snapshots of that pool have their UUIDs (UuidOfName), so that no volume
// has one of them. INTERNAL if `pool_id` is not a UUID; an empty one stays empty.
[[nodiscard]] absl::StatusOr<std::string> SnapshotNameSpace(const std::string& pool_id);

// A new random UUID in lower case.
[[nodiscard]] std::string RandomUuid();

}  // namespace holdfast
