// SPDX-License-Identifier: Apache-2.0
#include "controller/group_places.h"

#include <algorithm>
#include <utility>

#include "controller/snapshot_place.h"

namespace holdfast::controller {

namespace {

// Of each pool that may have members and could not be asked, why.
absl::Status RequireAnswers(const LocalGroups::Answers& answers, const GroupSite::Ids& expected) {
  GroupSite::Ids members = expected;
  if (!answers.members.empty()) {
    for (const std::string& text : answers.members.front().group.members) {
      if (auto member = ParseSnapshotId(text)) members.push_back(*std::move(member));
    }
  }
  for (const auto& [name, problem] : answers.unanswered) {
    const bool may_have_some =
        members.empty() ||
        std::ranges::any_of(members, [&](const VolumeId& id) { return id.pool == name; });
    if (may_have_some) return WithCode(problem, absl::StatusCode::kUnavailable);
  }
  return absl::OkStatus();
}

}  // namespace

GroupSite& GroupPlaces::Node(const std::string& node) {
  return nodes_.try_emplace(node, *hub_, node, deadline_).first->second;
}

GroupSite* GroupPlaces::FindNode(const std::string& node) {
  return hub_ == nullptr || hub_->Nodes({node}).empty() ? nullptr : &Node(node);
}

GroupSite& GroupPlaces::SiteOf(const VolumeId& id) {
  if (hub_ == nullptr || id.node.empty()) return own_;
  return Node(id.node);
}

absl::StatusOr<VolumeId> GroupPlaces::MemberOf(const std::string& group, const VolumeId& source,
                                               const Secrets& secrets) {
  if (hub_ == nullptr || source.node.empty()) return own_.MemberOf(group, source, secrets);
  return IdOfSnapshot(*hub_, source, GroupMemberName(group, source.uuid), deadline_);
}

GroupPlace& GroupPlaces::PlaceOf(const VolumeId& id, std::vector<GroupPlace>& places) {
  GroupSite& site = SiteOf(id);
  const auto found = std::ranges::find(places, &site, &GroupPlace::site);
  if (found != places.end()) return *found;
  places.push_back({.site = &site, .part = {}, .members = {}});
  return places.back();
}

absl::StatusOr<std::vector<GroupPlace>> GroupPlaces::OfSources(const std::string& group,
                                                               const GroupRequest& request,
                                                               const Secrets& secrets) {
  std::vector<GroupPlace> places;
  SnapshotGroup whole{.id = group, .members = {}};
  for (const VolumeId& source : request.sources) {
    ASSIGN_OR_RETURN(VolumeId member, MemberOf(group, source, secrets));
    whole.members.push_back(ToSnapshotId(member));
    GroupPlace& place = PlaceOf(source, places);
    place.part.sources.push_back(source);
    place.members.push_back(std::move(member));
  }
  std::ranges::sort(whole.members);
  const std::string attempt = RandomUuid();
  for (GroupPlace& place : places) {
    place.part.group = whole;
    place.part.attempt = attempt;
    place.part.parameters = request.parameters;
    place.part.secrets = secrets;
  }
  return places;
}

absl::StatusOr<std::vector<GroupPlace>> GroupPlaces::OfMembers(const SnapshotGroup& group) {
  std::vector<GroupPlace> places;
  for (const std::string& text : group.members) {
    const auto member = ParseSnapshotId(text);
    if (!member) return Internal("group snapshot '{}' has no member '{}'", group.id, text);
    if (hub_ != nullptr && hub_->IsLost(member->node, member->pool)) continue;
    PlaceOf(*member, places).members.push_back(*member);
  }
  for (GroupPlace& place : places) place.part.group = group;
  return places;
}

GroupSite::Ids GroupPlaces::NamedAt(const SnapshotGroup& group) {
  GroupSite::Ids named;
  for (const std::string& text : group.members) {
    const auto member = ParseSnapshotId(text);
    if (hub_ == nullptr || !member || member->node.empty()) continue;
    auto id = IdOfSnapshot(*hub_, *member, group.id, deadline_);
    if (id.ok()) named.push_back(*std::move(id));  // it names them itself when it connects
  }
  return named;
}

void GroupPlaces::NoteNames(const SnapshotGroup& group) {
  for (const VolumeId& id : NamedAt(group)) hub_->group_names().Created(id, group.id);
}

void GroupPlaces::ForgetNames(const SnapshotGroup& group) {
  for (const VolumeId& id : NamedAt(group)) hub_->group_names().Deleted(id);
}

absl::StatusOr<std::vector<FoundMember>> GroupPlaces::Find(const std::string& group,
                                                           const GroupSite::Ids& expected,
                                                           const Secrets& secrets) {
  LocalGroups::Answers answers = own_.Ask(group, secrets);
  ASSIGN_OR_RETURN(const auto of_nodes, FindAtNodes(group));
  std::vector<FoundMember>& found = answers.members;
  found.insert(found.end(), of_nodes.begin(), of_nodes.end());
  for (const FoundMember& member : found) {
    if (member.group == found.front().group) continue;
    return Unavailable("nodes contradict each other about the members of group snapshot '{}'",
                       group);
  }
  RETURN_IF_ERROR(RequireAnswers(answers, expected));
  return std::move(answers.members);
}

absl::StatusOr<std::vector<FoundMember>> GroupPlaces::FindAtNodes(const std::string& group) {
  std::vector<FoundMember> found;
  if (hub_ == nullptr) return found;
  if (!hub_->WaitUntilSettled(deadline_)) {
    return Unavailable("the controller has just started and waits for its nodes; try again");
  }
  for (const auto& place : hub_->group_names().Find(group)) {
    if (FindNode(place.node) == nullptr && hub_->lost_pools().HasNode(place.node)) continue;
    ASSIGN_OR_RETURN(auto of_node, Node(place.node).Find(group));
    found.insert(found.end(), std::make_move_iterator(of_node.begin()),
                 std::make_move_iterator(of_node.end()));
  }
  return found;
}

}  // namespace holdfast::controller
