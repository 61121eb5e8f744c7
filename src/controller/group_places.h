// SPDX-License-Identifier: Apache-2.0
// The sites of a group snapshot: the pools of this process, and the nodes that are linked to it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/group_cut.h"
#include "controller/group_request.h"
#include "controller/local_groups.h"
#include "controller/node_groups.h"

namespace holdfast::controller {

// For one call, until its deadline.
class GroupPlaces final {
 public:
  // Both outlive it. Without a hub there are no nodes, and all volumes are in pools of this
  // process.
  GroupPlaces(LocalGroups& own, link::Hub* hub, link::Deadline deadline)
      : own_(own), hub_(hub), deadline_(deadline) {}

  // Where the group's members are, or would be. UNAVAILABLE for a node that is not connected;
  // NOT_FOUND for a pool that it does not have.
  [[nodiscard]] absl::StatusOr<std::vector<GroupPlace>> OfSources(const std::string& group,
                                                                  const GroupRequest& request,
                                                                  const Secrets& secrets);
  // The same of snapshots that exist, without what is to be cut.
  [[nodiscard]] absl::StatusOr<std::vector<GroupPlace>> OfMembers(const SnapshotGroup& group);

  // The members that are there, at all sites that may have some. UNAVAILABLE if one of those cannot
  // be asked, or they contradict each other. A pool of this process that cannot be asked is left
  // out, unless it has members of the group, as far as the others or the caller know: `expected`
  // are volumes or snapshots that it counts on. Without such it may have some.
  [[nodiscard]] absl::StatusOr<std::vector<FoundMember>> Find(const std::string& group,
                                                              const GroupSite::Ids& expected,
                                                              const Secrets& secrets);

  // The one of a volume or snapshot, as long as this.
  [[nodiscard]] GroupSite& SiteOf(const VolumeId& id);

  // The one of a node, as long as this; null if that is not connected now.
  [[nodiscard]] GroupSite* FindNode(const std::string& node);

  // Which nodes have members, for Find: they name them only when they connect.
  void NoteNames(const SnapshotGroup& group);
  void ForgetNames(const SnapshotGroup& group);

 private:
  // The places of the group on nodes, as the names of groups have them.
  GroupSite::Ids NamedAt(const SnapshotGroup& group);
  absl::StatusOr<VolumeId> MemberOf(const std::string& group, const VolumeId& source,
                                    const Secrets& secrets);
  GroupPlace& PlaceOf(const VolumeId& id, std::vector<GroupPlace>& places);
  GroupSite& Node(const std::string& node);
  absl::StatusOr<std::vector<FoundMember>> FindAtNodes(const std::string& group);

  LocalGroups& own_;
  link::Hub* const hub_;
  const link::Deadline deadline_;
  std::map<std::string, NodeGroups> nodes_;
};

}  // namespace holdfast::controller
