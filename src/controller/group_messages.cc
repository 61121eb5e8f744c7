// SPDX-License-Identifier: Apache-2.0
#include "controller/group_messages.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "controller/group_request.h"

namespace holdfast::controller {

bool IsGroupMethod(const std::string& method) {
  constexpr std::array<std::string_view, 6> kMethods = {kHoldGroup, kCutGroup,    kSealGroup,
                                                        kEndGroup,  kDeleteGroup, kFindGroup};
  return std::ranges::find(kMethods, method) != kMethods.end();
}

link::v1::GroupPart ToMessage(const GroupPart& part) {
  link::v1::GroupPart message;
  message.set_group(part.group.id);
  for (const std::string& member : part.group.members) message.add_members(member);
  message.set_attempt(part.attempt);
  for (const VolumeId& source : part.sources) message.add_sources(source.ToString());
  for (const HeldVolume& held : part.held) {
    link::v1::HeldVolume& added = *message.add_held();
    added.set_volume(held.volume.ToString());
    added.set_device(held.device);
  }
  for (const auto& [key, value] : part.parameters) (*message.mutable_parameters())[key] = value;
  return message;
}

absl::StatusOr<GroupPart> ParseGroupPart(const link::v1::GroupPart& message) {
  GroupPart part;
  part.attempt = message.attempt();
  for (const auto& [key, value] : message.parameters()) part.parameters.emplace(key, value);
  ASSIGN_OR_RETURN(part.group, ParseGroup(message.group(), message.members()));
  if (!IsUuid(part.attempt)) return InvalidArgument("attempt is not a UUID");
  const int volumes = message.sources_size() + message.held_size();
  if (volumes == 0 || volumes > message.members_size()) {
    return InvalidArgument("sources and held cannot be those of a group's part");
  }
  for (const std::string& text : message.sources()) {
    const auto id = VolumeId::Parse(text);
    if (!id) return InvalidArgument("sources: no volume has an id like that");
    part.sources.push_back(*id);
  }
  for (const link::v1::HeldVolume& held : message.held()) {
    const auto id = VolumeId::Parse(held.volume());
    // A node cuts its own volumes itself.
    if (!id || !id->node.empty()) {
      return InvalidArgument("held: no volume of all nodes has this id");
    }
    part.held.push_back({.volume = *id, .device = held.device()});
  }
  return part;
}

absl::StatusOr<std::vector<VolumeId>> ParseSnapshotIds(
    const google::protobuf::RepeatedPtrField<std::string>& texts) {
  if (texts.size() > kMostMembers) return InvalidArgument("{} members in a group", texts.size());
  std::vector<VolumeId> ids;
  for (const std::string& text : texts) {
    const auto id = ParseSnapshotId(text);
    if (!id) return InvalidArgument("members: no snapshot has an id like that");
    ids.push_back(*id);
  }
  return ids;
}

absl::StatusOr<SnapshotGroup> ParseGroup(
    const std::string& id, const google::protobuf::RepeatedPtrField<std::string>& members) {
  if (!IsGroupId(id)) return InvalidArgument("no group snapshot has an id like that");
  RETURN_IF_ERROR(ParseSnapshotIds(members).status());
  SnapshotGroup group{.id = id, .members = {members.begin(), members.end()}};
  const bool sorted =
      std::ranges::adjacent_find(group.members, std::greater_equal<>()) == group.members.end();
  if (sorted && !group.members.empty()) return group;
  return InvalidArgument("members are not those of a group");
}

}  // namespace holdfast::controller
