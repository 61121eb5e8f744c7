// SPDX-License-Identifier: Apache-2.0
// Leads the sites of a group snapshot through their steps: every filesystem is frozen before the
// first cut, and thawed after the last one; and no member is kept before all of them are durable
// (docs/adr/0030).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/group_site.h"

namespace holdfast::controller {

// The members of a group at one site.
struct GroupPlace {
  GroupSite* site = nullptr;
  GroupPart part;
  GroupSite::Ids members;
};

// The sites outlive it. For one thread, whose caller holds the group's lock.
class GroupCut final {
 public:
  // The site of a node; null if that is not connected.
  using FindNode = std::function<GroupSite*(const std::string& node)>;

  // All members of the group, each site once. Without `find_node` there are no nodes to ask.
  GroupCut(std::string group, std::vector<GroupPlace> places, FindNode find_node);

  // Cuts all members: afterwards each is durable and undecided. After an error nothing of them is
  // left, or the code is one that makes the caller repeat the call. FAILED_PRECONDITION if there
  // are two volumes whose writers cannot be held back; UNAVAILABLE if there are because a node is
  // not connected.
  [[nodiscard]] absl::Status Make();

  // Ends what is undecided. With `keep` set the group comes into being, and the deciding member is
  // kept before any other; otherwise it is removed, unless it was kept before. True if the group is
  // there, with the members that are. UNAVAILABLE when it could not be ended
  // everywhere; another error if it could not be kept, and was removed.
  [[nodiscard]] absl::StatusOr<bool> End(bool keep);

 private:
  using Unheld = std::vector<GroupSite::Unheld>;

  absl::Status MakeAll();
  absl::StatusOr<Unheld> Hold(bool shared);
  Unheld AskHolders(const Unheld& unheld);
  GroupPlace& PlaceOf(GroupSite& site);
  void DropHolders(const Unheld& unheld);

  const std::string group_;
  const FindNode find_node_;
  // The one with the deciding member first; during Make also those that only hold back writers.
  std::vector<GroupPlace> places_;
};

}  // namespace holdfast::controller
