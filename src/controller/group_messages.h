// SPDX-License-Identifier: Apache-2.0
// What controller and node tell each other of group snapshots (link.proto), both ways.
#pragma once

#include <string>
#include <vector>

#include "controller/group_site.h"
#include "proto/link.pb.h"

namespace holdfast::controller {

// Methods of the link.
inline constexpr char kHoldGroup[] = "HoldGroup";
inline constexpr char kCutGroup[] = "CutGroup";
inline constexpr char kSealGroup[] = "SealGroup";
inline constexpr char kEndGroup[] = "EndGroup";
inline constexpr char kDeleteGroup[] = "DeleteGroup";
inline constexpr char kFindGroup[] = "FindGroup";

[[nodiscard]] bool IsGroupMethod(const std::string& method);

// Without the secrets.
[[nodiscard]] link::v1::GroupPart ToMessage(const GroupPart& part);

// All below: INVALID_ARGUMENT if it cannot be so.
[[nodiscard]] absl::StatusOr<GroupPart> ParseGroupPart(const link::v1::GroupPart& message);
[[nodiscard]] absl::StatusOr<std::vector<VolumeId>> ParseSnapshotIds(
    const google::protobuf::RepeatedPtrField<std::string>& texts);
// The ids of all members of a group.
[[nodiscard]] absl::StatusOr<SnapshotGroup> ParseGroup(
    const std::string& id, const google::protobuf::RepeatedPtrField<std::string>& members);

}  // namespace holdfast::controller
