// SPDX-License-Identifier: Apache-2.0
#include "controller/group_cut.h"

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "core/start_thread.h"

namespace holdfast::controller {
namespace {

using Ids = GroupSite::Ids;

// For all at once, because filesystems are frozen meanwhile. The first error, when all have ended.
absl::Status ForEach(std::vector<GroupPlace>& places,
                     const std::function<absl::Status(std::size_t)>& step) {
  std::vector<absl::Status> results(places.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < places.size(); ++i) {
    auto thread = StartThread([&, i] { results[i] = step(i); });
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
    } else {
      results[i] = thread.status();
    }
  }
  results[0] = step(0);
  for (std::thread& thread : threads) thread.join();
  absl::Status first;
  for (const absl::Status& result : results) first.Update(result);
  return first;
}

bool OnlyHolds(const GroupPlace& place) { return place.members.empty(); }

bool IsShared(const GroupPlace& place) {
  return !OnlyHolds(place) && place.members.front().node.empty();
}

// A node that is not connected may be able to.
absl::Status RequireAtMostOne(const std::vector<GroupSite::Unheld>& unheld) {
  if (unheld.size() < 2) return absl::OkStatus();
  for (const GroupSite::Unheld& one : unheld) {
    if (one.node.empty()) continue;
    return Unavailable(
        "volume '{}' is in use on node '{}', which is not connected and so cannot be asked to "
        "freeze it; try again",
        one.volume.ToString(), one.node);
  }
  return FailedPrecondition(
      "volumes '{}' and '{}' are in use, and neither can be frozen (raw block and btrfs volumes "
      "cannot, nor volumes in Ceph that another program than one node's driver has mapped, or a "
      "driver of an older version), so they cannot be cut at one instant; end the pods of all but "
      "one such volume, or make snapshots of single volumes",
      unheld[0].volume.ToString(), unheld[1].volume.ToString());
}

}  // namespace

GroupCut::GroupCut(std::string group, std::vector<GroupPlace> places, FindNode find_node)
    : group_(std::move(group)), find_node_(std::move(find_node)), places_(std::move(places)) {
  const std::string& decides = places_.front().part.group.members.front();
  const auto has_it = [&](const GroupPlace& place) {
    return std::ranges::any_of(place.members,
                               [&](const VolumeId& id) { return ToSnapshotId(id) == decides; });
  };
  const auto first = std::ranges::find_if(places_, has_it);
  std::rotate(places_.begin(), first, first + 1);
  Ids& members = places_.front().members;
  const auto deciding = std::ranges::find_if(
      members, [&](const VolumeId& id) { return ToSnapshotId(id) == decides; });
  std::swap(members.front(), *deciding);
}

absl::Status GroupCut::Make() {
  const absl::Status made = MakeAll();
  if (made.ok()) {
    std::erase_if(places_, OnlyHolds);
    return made;
  }
  const auto ended = End(/*keep=*/false);
  std::erase_if(places_, OnlyHolds);
  if (ended.ok()) return made;
  return Unavailable("{}; and what was made could not be removed yet: {}", MessageOf(made),
                     MessageOf(ended.status()));
}

absl::Status GroupCut::MakeAll() {
  // Volumes that every node reaches first: what is cut of them beforehand takes a second, and no
  // node's filesystem is frozen yet. Then it is known, too, which of them nodes have to hold back.
  ASSIGN_OR_RETURN(const Unheld shared, Hold(/*shared=*/true));
  Unheld unheld = AskHolders(shared);
  ASSIGN_OR_RETURN(const Unheld at_nodes, Hold(/*shared=*/false));
  unheld.insert(unheld.end(), at_nodes.begin(), at_nodes.end());
  DropHolders(at_nodes);
  RETURN_IF_ERROR(RequireAtMostOne(unheld));
  RETURN_IF_ERROR(
      ForEach(places_, [&](std::size_t i) { return places_[i].site->Cut(places_[i].part); }));
  return ForEach(places_, [&](std::size_t i) { return places_[i].site->Seal(places_[i].part); });
}

absl::StatusOr<GroupCut::Unheld> GroupCut::Hold(bool shared) {
  std::vector<Unheld> unheld(places_.size());
  RETURN_IF_ERROR(ForEach(places_, [&](std::size_t i) -> absl::Status {
    if (IsShared(places_[i]) != shared) return absl::OkStatus();
    ASSIGN_OR_RETURN(unheld[i], places_[i].site->Hold(places_[i].part));
    return absl::OkStatus();
  }));
  Unheld all;
  for (const Unheld& of_place : unheld) all.insert(all.end(), of_place.begin(), of_place.end());
  return all;
}

// Adds to the nodes' parts what they are to hold back. Returns the volumes whose nodes cannot be
// asked.
GroupCut::Unheld GroupCut::AskHolders(const Unheld& unheld) {
  Unheld left;
  for (const GroupSite::Unheld& one : unheld) {
    GroupSite* const site = find_node_ && !one.node.empty() ? find_node_(one.node) : nullptr;
    if (site != nullptr) {
      PlaceOf(*site).part.held.push_back({.volume = one.volume, .device = one.device});
    } else {
      left.push_back({.volume = one.volume, .node = find_node_ ? one.node : ""});
    }
  }
  return left;
}

GroupPlace& GroupCut::PlaceOf(GroupSite& site) {
  const auto found = std::ranges::find(places_, &site, &GroupPlace::site);
  if (found != places_.end()) return *found;
  const GroupPart& like = places_.front().part;
  places_.push_back({.site = &site,
                     .part = {.group = like.group,
                              .attempt = like.attempt,
                              .sources = {},
                              .parameters = like.parameters},
                     .members = {}});
  return places_.back();
}

// They have ended it themselves if they hold back nothing.
void GroupCut::DropHolders(const Unheld& unheld) {
  std::erase_if(places_, [&](const GroupPlace& place) {
    return OnlyHolds(place) && std::ranges::all_of(place.part.held, [&](const HeldVolume& held) {
             return std::ranges::find(unheld, held.volume, &GroupSite::Unheld::volume) !=
                    unheld.end();
           });
  });
}

absl::StatusOr<bool> GroupCut::End(bool keep) {
  const Ids deciding = {places_.front().members.front()};
  auto decided = places_.front().site->End(group_, deciding, keep);
  const absl::Status failed = decided.status();
  // Whether it was kept all the same decides.
  if (!failed.ok() && keep) decided = places_.front().site->End(group_, deciding, false);
  if (!decided.ok()) return WithCode(decided.status(), absl::StatusCode::kUnavailable);
  const bool is_kept = !decided->empty();
  const absl::Status ended = ForEach(places_, [&](std::size_t i) {
    const GroupPlace& place = places_[i];
    const absl::Status at_place = place.site->End(group_, place.members, is_kept).status();
    // What it does not hear now it does by itself.
    return OnlyHolds(place) ? absl::OkStatus() : at_place;
  });
  if (!ended.ok()) return WithCode(ended, absl::StatusCode::kUnavailable);
  if (!failed.ok() && !is_kept) return failed;
  return is_kept;
}

}  // namespace holdfast::controller
