// SPDX-License-Identifier: Apache-2.0
// A node as a site of group snapshots: each step is a command to it, and its answers are checked.
#pragma once

#include <string>

#include "controller/group_site.h"
#include "controller/node_calls.h"

namespace holdfast::controller {

// For one call, until its deadline. The hub outlives it.
class NodeGroups final : public GroupSite {
 public:
  NodeGroups(link::Hub& hub, std::string node, link::Deadline deadline)
      : calls_(hub), node_(std::move(node)), deadline_(deadline) {}

  absl::StatusOr<std::vector<Unheld>> Hold(const GroupPart& part) override;
  absl::Status Cut(const GroupPart& part) override;
  absl::Status Seal(const GroupPart& part) override;
  absl::StatusOr<Ids> End(const std::string& group, const Ids& members, bool keep) override;
  absl::Status Delete(const std::string& group, const Ids& members) override;
  absl::StatusOr<std::vector<FoundMember>> Find(const std::string& group) override;

 private:
  using Texts = google::protobuf::RepeatedPtrField<std::string>;
  // Those of the volumes that it names, if it names no others.
  absl::StatusOr<Ids> Among(const Ids& asked, const Texts& answered) const;
  absl::StatusOr<FoundMember> Take(const csi::v1::Snapshot& answered,
                                   const SnapshotGroup& group) const;

  NodeCalls calls_;
  const std::string node_;
  const link::Deadline deadline_;
};

}  // namespace holdfast::controller
