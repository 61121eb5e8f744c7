// SPDX-License-Identifier: Apache-2.0
#include "controller/group_service.h"

#include <algorithm>
#include <set>

#include "controller/group_cut.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

using Texts = google::protobuf::RepeatedPtrField<std::string>;

absl::Status RequireSame(const std::vector<FoundMember>& found, const GroupPart& wanted,
                         const std::string& name) {
  const bool same = std::ranges::all_of(found, [&](const FoundMember& member) {
    return member.group == wanted.group && member.parameters == wanted.parameters;
  });
  if (same) return absl::OkStatus();
  return AlreadyExists("a group snapshot named '{}' exists with other volumes or other parameters",
                       name);
}

// Those that can be ids: of a group that is not there, no other is worth a question.
GroupSite::Ids SnapshotIdsIn(const Texts& given) {
  GroupSite::Ids ids;
  for (const std::string& text : given) {
    auto id = ParseSnapshotId(text);
    if (id && ids.size() < kMostMembers) ids.push_back(*std::move(id));
  }
  return ids;
}

GroupSite::Ids MembersIn(const SnapshotGroup& group) {
  GroupSite::Ids ids;
  for (const std::string& text : group.members) {
    if (auto id = ParseSnapshotId(text)) ids.push_back(*std::move(id));
  }
  return ids;
}

// As sets: all members that the group had, or those that are left of it.
absl::Status RequireMembers(const Texts& given, const std::vector<FoundMember>& found) {
  if (given.size() > kMostMembers) return InvalidArgument("snapshot_ids names too many snapshots");
  const std::set<std::string> named(given.begin(), given.end());
  const SnapshotGroup& group = found.front().group;
  std::set<std::string> there;
  for (const FoundMember& member : found) there.insert(member.snapshot.snapshot_id());
  if (std::ranges::equal(named, group.members) || named == there) return absl::OkStatus();
  return InvalidArgument("snapshot_ids are not the {} snapshots of group snapshot '{}'",
                         group.members.size(), group.id);
}

bool IsLater(const google::protobuf::Timestamp& one, const google::protobuf::Timestamp& other) {
  return std::pair(one.seconds(), one.nanos()) > std::pair(other.seconds(), other.nanos());
}

}  // namespace

// What an earlier attempt has left is ended first, so that there is never more than one.
absl::Status GroupService::Create(const csi::v1::CreateVolumeGroupSnapshotRequest& request,
                                  GroupPlaces& places, csi::v1::VolumeGroupSnapshot& response) {
  ASSIGN_OR_RETURN(const GroupRequest wanted, ParseGroupRequest(request));
  const std::string id = GroupIdOf(env_.driver_name, wanted.name);
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(id, "CreateVolumeGroupSnapshot"));
  ASSIGN_OR_RETURN(auto of_sources,
                   places.OfSources(id, wanted, rpc::SecretsIn(request.secrets())));
  const GroupPart part = of_sources.front().part;
  ASSIGN_OR_RETURN(const auto found, places.Find(id, wanted.sources, part.secrets));
  RETURN_IF_ERROR(RequireSame(found, part, wanted.name));
  GroupCut::FindNode find_node;
  if (env_.hub != nullptr) find_node = [&](const auto& node) { return places.FindNode(node); };
  GroupCut cut(id, std::move(of_sources), std::move(find_node));
  ASSIGN_OR_RETURN(bool is_there, cut.End(/*keep=*/!found.empty()));
  if (!is_there && found.empty()) {
    RETURN_IF_ERROR(cut.Make());
    places.NoteNames(part.group);
    ASSIGN_OR_RETURN(is_there, cut.End(/*keep=*/true));
    if (!is_there) return Aborted("group snapshot '{}' was given up meanwhile; try again", id);
  }
  places.NoteNames(part.group);
  return Describe(part.group, places, response);
}

absl::Status GroupService::Describe(const SnapshotGroup& group, GroupPlaces& places,
                                    csi::v1::VolumeGroupSnapshot& response) {
  ASSIGN_OR_RETURN(const auto found, places.Find(group.id, MembersIn(group), {}));
  response.set_group_snapshot_id(group.id);
  for (const std::string& member : group.members) {
    const auto described = std::ranges::find_if(
        found, [&](const FoundMember& one) { return one.snapshot.snapshot_id() == member; });
    if (described == found.end()) {
      return NotFound("group snapshot '{}' is not whole: its snapshot '{}' was deleted", group.id,
                      member);
    }
    csi::v1::Snapshot& snapshot = *response.add_snapshots();
    snapshot = described->snapshot;
    snapshot.set_group_snapshot_id(group.id);
    if (IsLater(snapshot.creation_time(), response.creation_time())) {
      *response.mutable_creation_time() = snapshot.creation_time();
    }
  }
  response.set_ready_to_use(std::ranges::all_of(
      response.snapshots(), [](const csi::v1::Snapshot& one) { return one.ready_to_use(); }));
  return absl::OkStatus();
}

absl::Status GroupService::Delete(const csi::v1::DeleteVolumeGroupSnapshotRequest& request,
                                  GroupPlaces& places) {
  const std::string& id = request.group_snapshot_id();
  RETURN_IF_ERROR(rpc::RequireId(id, "group_snapshot_id"));
  if (!IsGroupId(id)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(id, "DeleteVolumeGroupSnapshot"));
  const GroupSite::Ids named = SnapshotIdsIn(request.snapshot_ids());
  ASSIGN_OR_RETURN(const auto found, places.Find(id, named, rpc::SecretsIn(request.secrets())));
  SnapshotGroup group{.id = id, .members = {}};
  std::ranges::transform(named, std::back_inserter(group.members), ToSnapshotId);
  if (!found.empty()) {
    RETURN_IF_ERROR(RequireMembers(request.snapshot_ids(), found));
    group = found.front().group;
  }
  ASSIGN_OR_RETURN(const auto of_members, places.OfMembers(group));
  for (const GroupPlace& place : of_members) {
    RETURN_IF_ERROR(place.site->Delete(id, place.members));
  }
  places.ForgetNames(group);
  return absl::OkStatus();
}

absl::Status GroupService::Get(const csi::v1::GetVolumeGroupSnapshotRequest& request,
                               GroupPlaces& places, csi::v1::VolumeGroupSnapshot& response) {
  const std::string& id = request.group_snapshot_id();
  RETURN_IF_ERROR(rpc::RequireId(id, "group_snapshot_id"));
  if (!IsGroupId(id)) return NotFound("there is no group snapshot '{}'", id);
  ASSIGN_OR_RETURN(const auto found, places.Find(id, SnapshotIdsIn(request.snapshot_ids()),
                                                 rpc::SecretsIn(request.secrets())));
  if (found.empty()) return NotFound("there is no group snapshot '{}'", id);
  RETURN_IF_ERROR(RequireMembers(request.snapshot_ids(), found));
  return Describe(found.front().group, places, response);
}

grpc::Status GroupService::GroupControllerGetCapabilities(
    grpc::ServerContext*, const csi::v1::GroupControllerGetCapabilitiesRequest*,
    csi::v1::GroupControllerGetCapabilitiesResponse* response) {
  return env_.calls.RunAlways({"GroupControllerGetCapabilities", "", LogLevel::kDebug}, [&] {
    using Rpc = csi::v1::GroupControllerServiceCapability::RPC;
    response->add_capabilities()->mutable_rpc()->set_type(
        Rpc::CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT);
    return absl::OkStatus();
  });
}

grpc::Status GroupService::CreateVolumeGroupSnapshot(
    grpc::ServerContext* context, const csi::v1::CreateVolumeGroupSnapshotRequest* request,
    csi::v1::CreateVolumeGroupSnapshotResponse* response) {
  return env_.calls.Run(context, {"CreateVolumeGroupSnapshot", request->name()}, [&] {
    GroupPlaces places(env_.own, env_.hub, DeadlineOf(context));
    return Create(*request, places, *response->mutable_group_snapshot());
  });
}

grpc::Status GroupService::DeleteVolumeGroupSnapshot(
    grpc::ServerContext* context, const csi::v1::DeleteVolumeGroupSnapshotRequest* request,
    csi::v1::DeleteVolumeGroupSnapshotResponse*) {
  return env_.calls.Run(context, {"DeleteVolumeGroupSnapshot", request->group_snapshot_id()}, [&] {
    GroupPlaces places(env_.own, env_.hub, DeadlineOf(context));
    return Delete(*request, places);
  });
}

grpc::Status GroupService::GetVolumeGroupSnapshot(
    grpc::ServerContext* context, const csi::v1::GetVolumeGroupSnapshotRequest* request,
    csi::v1::GetVolumeGroupSnapshotResponse* response) {
  return env_.calls.Run(
      context, {"GetVolumeGroupSnapshot", request->group_snapshot_id(), LogLevel::kDebug}, [&] {
        GroupPlaces places(env_.own, env_.hub, DeadlineOf(context));
        return Get(*request, places, *response->mutable_group_snapshot());
      });
}

}  // namespace holdfast::controller
