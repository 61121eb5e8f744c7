// SPDX-License-Identifier: Apache-2.0
#include "controller/node_groups.h"

#include <algorithm>

#include "controller/group_messages.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

link::v1::GroupMembers MembersMessage(const std::string& group, const GroupSite::Ids& members) {
  link::v1::GroupMembers message;
  message.set_group(group);
  for (const VolumeId& id : members) message.add_members(ToSnapshotId(id));
  return message;
}

// A step of a creation may fail as creations do; what follows is about snapshots that exist.
constexpr Codes kStep = Codes::kOfCreation;

}  // namespace

// An older node does not know that it can be asked to hold without cutting: it refuses a part that
// has no sources, and says nothing of what is to be held in any other.
absl::StatusOr<std::vector<GroupSite::Unheld>> NodeGroups::Hold(const GroupPart& part) {
  const auto bytes = calls_.AskFor(node_, kStep, kHoldGroup, ToMessage(part), deadline_);
  link::v1::Unheld answered;
  if (bytes.ok()) {
    RETURN_IF_ERROR(ParseAnswer(node_, *bytes, answered));
  } else if (!part.sources.empty() || !absl::IsInvalidArgument(bytes.status())) {
    return bytes.status();
  }
  ASSIGN_OR_RETURN(const Ids unheld, Among(part.sources, answered.volumes()));
  Ids asked;
  for (const HeldVolume& volume : part.held) asked.push_back(volume.volume);
  ASSIGN_OR_RETURN(const Ids held, Among(asked, answered.held()));
  std::vector<Unheld> all;
  for (const VolumeId& volume : unheld) all.push_back({.volume = volume});
  for (const VolumeId& volume : asked) {
    if (std::ranges::find(held, volume) == held.end()) all.push_back({.volume = volume});
  }
  return all;
}

absl::StatusOr<GroupSite::Ids> NodeGroups::Among(const Ids& asked, const Texts& answered) const {
  Ids named;
  for (const std::string& text : answered) {
    const auto volume = std::ranges::find(asked, text, &VolumeId::ToString);
    if (volume == asked.end() || std::ranges::find(named, *volume) != named.end()) {
      return Refuse(node_, "it names a volume that it was not asked about");
    }
    named.push_back(*volume);
  }
  return named;
}

absl::Status NodeGroups::Cut(const GroupPart& part) {
  return calls_.AskFor(node_, kStep, kCutGroup, ToMessage(part), deadline_).status();
}

absl::Status NodeGroups::Seal(const GroupPart& part) {
  return calls_.AskFor(node_, kStep, kSealGroup, ToMessage(part), deadline_).status();
}

absl::StatusOr<GroupSite::Ids> NodeGroups::End(const std::string& group, const Ids& members,
                                               bool keep) {
  link::v1::GroupEnd request;
  request.set_group(group);
  for (const VolumeId& id : members) request.add_members(ToSnapshotId(id));
  request.set_keep(keep);
  ASSIGN_OR_RETURN(const std::string bytes,
                   calls_.AskFor(node_, Codes::kOfVolume, kEndGroup, request, deadline_));
  link::v1::GroupMembers answered;
  RETURN_IF_ERROR(ParseAnswer(node_, bytes, answered));
  Ids there;
  for (const std::string& text : answered.members()) {
    const auto id = std::ranges::find(members, text, ToSnapshotId);
    if (id == members.end() || std::ranges::find(there, *id) != there.end()) {
      return Refuse(node_, "it names a snapshot that it was not asked about");
    }
    there.push_back(*id);
  }
  return there;
}

absl::Status NodeGroups::Delete(const std::string& group, const Ids& members) {
  return calls_
      .AskFor(node_, Codes::kOfVolume, kDeleteGroup, MembersMessage(group, members), deadline_)
      .status();
}

absl::StatusOr<std::vector<FoundMember>> NodeGroups::Find(const std::string& group) {
  link::v1::GroupName request;
  request.set_group(group);
  ASSIGN_OR_RETURN(const std::string bytes,
                   calls_.AskFor(node_, Codes::kOfList, kFindGroup, request, deadline_));
  link::v1::FoundGroup answered;
  RETURN_IF_ERROR(ParseAnswer(node_, bytes, answered));
  std::vector<FoundMember> found;
  if (answered.snapshots().empty()) return found;
  const auto whole = ParseGroup(group, answered.members());
  if (!whole.ok()) return Refuse(node_, MessageOf(whole.status()));
  const absl::Status parameters = rpc::CheckMap(answered.parameters(), "parameters");
  if (!parameters.ok()) return Refuse(node_, MessageOf(parameters));
  for (const csi::v1::Snapshot& snapshot : answered.snapshots()) {
    ASSIGN_OR_RETURN(FoundMember member, Take(snapshot, *whole));
    for (const auto& [key, value] : answered.parameters()) member.parameters.emplace(key, value);
    const std::string& id = member.snapshot.snapshot_id();
    if (std::ranges::any_of(
            found, [&](const FoundMember& other) { return other.snapshot.snapshot_id() == id; })) {
      return Refuse(node_, "it names a snapshot twice");
    }
    found.push_back(std::move(member));
  }
  return found;
}

// One of its own, and one of the group that it describes.
absl::StatusOr<FoundMember> NodeGroups::Take(const csi::v1::Snapshot& answered,
                                             const SnapshotGroup& group) const {
  ASSIGN_OR_RETURN(csi::v1::Snapshot snapshot, TakeListedSnapshot(node_, answered));
  if (!std::ranges::binary_search(group.members, snapshot.snapshot_id())) {
    return Refuse(node_, "it describes a group that does not have the snapshot it names");
  }
  return FoundMember{.snapshot = std::move(snapshot), .group = group, .parameters = {}};
}

}  // namespace holdfast::controller
