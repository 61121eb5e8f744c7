// SPDX-License-Identifier: Apache-2.0
#include "controller/volume_creation.h"

#include <algorithm>

#include "controller/content_messages.h"
#include "controller/node_calls.h"
#include "controller/parameters.h"
#include "controller/snapshot_request.h"
#include "rpc/fields.h"
#include "rpc/topology.h"

namespace holdfast::controller {
namespace {

using KnownPlace = link::VolumeNames::Place;

// A node that is there and leaves a creation unanswered so many times loses it to another one, if
// there is one.
constexpr int kPatientCalls = 3;
// Nodes that refuse for another reason than room; then the caller hears of it.
constexpr int kMostRefusals = 4;

// Codes that say "may still be running": what was begun on the node is not known.
bool IsUncertain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

absl::Status NoPlace(const Candidates& candidates, const PlacementRequest& wanted) {
  if (candidates.unfitting.empty() && candidates.absent.empty()) {
    return ResourceExhausted("no node that the request allows has Holdfast volumes");
  }
  return ResourceExhausted(
      "no node that the request allows has room for {} ({} without room or pool, {} not connected)",
      FormatBytes(wanted.bytes), candidates.unfitting.size(), candidates.absent.size());
}

absl::Status IsElsewhere(const std::string& name, const std::string& node, bool connected) {
  if (!connected) {
    return Unavailable("node '{}', which has a volume named '{}', is not connected", node, name);
  }
  return AlreadyExists(
      "node '{}' has a volume named '{}', where the request does not allow it; if nothing uses it, "
      "delete it (holdfast volumes on that node shows its id)",
      node, name);
}

}  // namespace

absl::StatusOr<PlacementRequest> VolumeCreation::ParsePlacementRequest(
    const csi::v1::CreateVolumeRequest& request) {
  RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
  RETURN_IF_ERROR(rpc::CheckMap(request.parameters(), "parameters"));
  if (request.volume_capabilities().empty()) {
    return InvalidArgument("volume_capabilities is missing");
  }
  ASSIGN_OR_RETURN(const ClassParameters parameters, ParseParameters(request.parameters()));
  PlacementRequest wanted{
      .name = request.name(), .pools = parameters.pools, .provisioning = parameters.provisioning};
  if (request.has_capacity_range()) {
    const auto& given = request.capacity_range();
    ASSIGN_OR_RETURN(const CapacityRange range,
                     CapacityRange::Parse(given.required_bytes(), given.limit_bytes()));
    wanted.bytes = range.required;
    wanted.limit = range.limit;
  }
  return wanted;
}

absl::Status VolumeCreation::Create(const csi::v1::CreateVolumeRequest& request,
                                    const PlacementRequest& wanted, link::Deadline deadline,
                                    csi::v1::CreateVolumeResponse& response) {
  ASSIGN_OR_RETURN(const auto source, ParseContentSource(request));
  if (!source) return CreateSomewhere(request, wanted, deadline, response);
  const std::string& node = source->id.node;
  const auto& places = request.accessibility_requirements();
  if (node.empty() || !Allows(places, node) || IsBegunElsewhere(request, node)) {
    return CreateElsewhere(request, wanted, *source, deadline, response);
  }
  const absl::Status made = CreateSomewhere(OnlyOn(node, request), wanted, deadline, response);
  if (!absl::IsResourceExhausted(made)) return made;
  // To choose another node would not help the CO.
  if (hub_.Nodes({node}).empty()) {
    return Unavailable("node '{}', which has the content source '{}', is not connected", node,
                       source->ToString());
  }
  const bool other = IsFreeChoice(places) || AllowedNodes(places, driver_name_).size() > 1;
  if (!other) return made;
  return CreateElsewhere(request, wanted, *source, deadline, response);
}

// A node that is declared lost, and is not there, has nothing that a call must wait for.
std::vector<KnownPlace> VolumeCreation::KnownPlaces(const std::string& name) const {
  std::vector<KnownPlace> places = hub_.names().Find(name);
  std::erase_if(places, [&](const KnownPlace& place) {
    return hub_.lost_pools().HasNode(place.node) && hub_.Nodes({place.node}).empty();
  });
  return places;
}

bool VolumeCreation::IsBegunElsewhere(const csi::v1::CreateVolumeRequest& request,
                                      const std::string& node) const {
  return std::ranges::any_of(KnownPlaces(request.name()), [&](const KnownPlace& place) {
    return place.node != node && Allows(request.accessibility_requirements(), place.node);
  });
}

absl::Status VolumeCreation::CreateElsewhere(const csi::v1::CreateVolumeRequest& request,
                                             const PlacementRequest& wanted,
                                             const ContentSource& source, link::Deadline deadline,
                                             csi::v1::CreateVolumeResponse& response) {
  if (!source.id.node.empty() && !issue_ticket_) {
    RETURN_IF_ERROR(LeaveNodes(wanted.name));
    return ResourceExhausted(
        "volume_content_source '{}' is on node '{}', where the request does not allow the volume, "
        "and nodes exchange no contents here",
        source.ToString(), source.id.node);
  }
  if (source.role == VolumeRole::kVolume) {
    return CloneElsewhere(request, wanted, source.id, deadline, response);
  }
  auto content = Describe(source.id, deadline);
  if (!content.ok()) {
    // A volume that is complete needs no source any more.
    const std::vector<KnownPlace> known = KnownPlaces(wanted.name);
    if (std::ranges::any_of(known, &KnownPlace::returned)) {
      return CreateSomewhere(request, wanted, deadline, response);
    }
    if (absl::IsNotFound(content.status())) RETURN_IF_ERROR(LeaveNodes(wanted.name));
    return content.status();
  }
  PlacementRequest placed = wanted;
  placed.bytes = std::max<Bytes>(placed.bytes, content->capacity_bytes());
  const Origin origin{source.id, *std::move(content)};
  return CreateSomewhere(request, placed, deadline, response, &origin);
}

absl::StatusOr<link::v1::Content> VolumeCreation::Describe(const VolumeId& snapshot,
                                                           link::Deadline deadline) {
  if (!snapshot.node.empty()) return nodes_.DescribeContent(snapshot, deadline);
  ASSIGN_OR_RETURN(const Content content, describe_own_(ToSnapshotId(snapshot)));
  return ToMessage(content);
}

absl::Status VolumeCreation::CreateSomewhere(const csi::v1::CreateVolumeRequest& request,
                                             const PlacementRequest& wanted,
                                             link::Deadline deadline,
                                             csi::v1::CreateVolumeResponse& response,
                                             const Origin* origin) {
  std::set<std::string> asked;
  const Task task{request, wanted, deadline, response, asked, origin};
  // Made before, or perhaps made by a call that was not answered.
  std::vector<KnownPlace> known = KnownPlaces(wanted.name);
  if (known.empty()) {
    RETURN_IF_ERROR(AwaitPlace(task).status());
    known = KnownPlaces(wanted.name);
  }
  absl::Status made;
  if (!AskKnown(task, known, made)) return made;
  RETURN_IF_ERROR(LeaveForeign(task, known));
  ASSIGN_OR_RETURN(const Candidates candidates, AwaitPlace(task));
  if (!AskCandidates(task, candidates, made)) return made;
  if (candidates.absent.empty() && !made.ok()) return made;  // the last one says what it has
  // Where only absent nodes are left, a CO that can choose others is asked to; with several of them
  // one may come back.
  if (candidates.fitting.empty() && candidates.unfitting.empty() && candidates.absent.size() == 1) {
    const std::string& node = candidates.absent.front();
    Attempt attempt{Outcome::kUnsent, made};
    if (!asked.contains(node)) attempt = CreateOn(node, task);
    if (attempt.outcome != Outcome::kUnsent) return attempt.status;
    // Not long after a start it is not known yet which nodes were asked to make it before.
    return hub_.IsSettled() ? NoPlace(candidates, wanted) : attempt.status;
  }
  if (!candidates.absent.empty()) {
    return WithCode(NoPlace(candidates, wanted), absl::StatusCode::kUnavailable);
  }
  return NoPlace(candidates, wanted);
}

absl::Status VolumeCreation::LeaveNodes(const std::string& name) {
  for (const KnownPlace& place : KnownPlaces(name)) {
    if (place.returned) {
      return IsElsewhere(name, place.node, !hub_.Nodes({place.node}).empty());
    }
    GiveUp(name, place.node, place.pool);
  }
  return absl::OkStatus();
}

// Asks the nodes that have the volume, or may have it, and where the request allows it. False: the
// call ends with `made`.
bool VolumeCreation::AskKnown(const Task& task, const std::vector<KnownPlace>& known,
                              absl::Status& made) {
  for (const KnownPlace& place : known) {
    if (!Allows(task.request.accessibility_requirements(), place.node)) continue;
    const Attempt attempt = CreateOn(place.node, task);
    made = attempt.status;
    if (!MayLeave(task, place, attempt)) return false;
    if (!place.returned && attempt.outcome != Outcome::kRefused) {
      GiveUp(task.wanted.name, place.node, place.pool);
    }
  }
  return true;
}

// Whether the volume may be made on another node although this one may have it.
bool VolumeCreation::MayLeave(const Task& task, const KnownPlace& place, const Attempt& attempt) {
  switch (attempt.outcome) {
    case Outcome::kMade:
      return false;
    case Outcome::kRejected:
      return true;
    case Outcome::kRefused:
      // One that has the volume and does not give it out must not get a second one elsewhere.
      if (absl::IsAlreadyExists(attempt.status)) return false;
      return !place.returned || absl::IsResourceExhausted(attempt.status);
    case Outcome::kUnsent:
      return !place.returned;
    case Outcome::kUncertain:
      break;
  }
  if (place.returned || absl::IsAborted(attempt.status)) return false;
  if (hub_.names().CountUnanswered(task.wanted.name, place.node) < kPatientCalls) return false;
  const auto& requirement = task.request.accessibility_requirements();
  const Candidates others =
      controller::Place(requirement, NodesFor(requirement), driver_name_, task.wanted);
  return std::ranges::any_of(others.fitting,
                             [&](const std::string& node) { return node != place.node; });
}

// What is where the request does not allow it. No caller has had an answer about a creation in
// doubt: it gives way. Of anything else one may have been.
absl::Status VolumeCreation::LeaveForeign(const Task& task, const std::vector<KnownPlace>& known) {
  for (const KnownPlace& place : known) {
    if (Allows(task.request.accessibility_requirements(), place.node)) continue;
    if (place.returned) {
      return IsElsewhere(task.wanted.name, place.node, !hub_.Nodes({place.node}).empty());
    }
    GiveUp(task.wanted.name, place.node, place.pool);
  }
  return absl::OkStatus();
}

// Those with room, one after another. False: the call ends with `made`.
bool VolumeCreation::AskCandidates(const Task& task, const Candidates& candidates,
                                   absl::Status& made) {
  const std::string& name = task.wanted.name;
  std::vector<std::string> nodes = candidates.fitting;
  std::erase_if(nodes, [&](const std::string& node) { return task.asked.contains(node); });
  // Those that failed it before come last.
  std::ranges::stable_partition(
      nodes, [&](const std::string& node) { return !hub_.names().FindSuperseded(name, node); });
  int refusals = 0;
  for (const std::string& node : nodes) {
    const Attempt attempt = CreateOn(node, task);
    made = attempt.status;
    if (attempt.outcome == Outcome::kMade || attempt.outcome == Outcome::kUncertain) return false;
    if (attempt.outcome == Outcome::kUnsent) continue;
    if (attempt.outcome == Outcome::kRejected) GiveUp(name, node, PoolNamesText(task.wanted.pools));
    // Of a volume that it did not name before it is not believed.
    if (attempt.outcome == Outcome::kRefused) hub_.names().CreationRefused(name, node);
    if (!absl::IsResourceExhausted(made) && ++refusals == kMostRefusals) return false;
  }
  return true;
}

// After a start the nodes are on their way back, and with them the knowledge which of them was
// asked to make this volume before. Where only one may have it, that one is waited for; else all of
// them.
absl::StatusOr<Candidates> VolumeCreation::AwaitPlace(const Task& task) {
  const auto& requirement = task.request.accessibility_requirements();
  while (true) {
    const std::size_t connected = hub_.CountNodes();
    const bool settled = hub_.IsSettled();
    Candidates candidates = Place(requirement, NodesFor(requirement), driver_name_, task.wanted);
    const std::size_t here = candidates.fitting.size() + candidates.unfitting.size();
    const bool one =
        task.request.has_accessibility_requirements() && here + candidates.absent.size() == 1;
    if (settled || (one && here == 1)) return candidates;
    const bool news =
        one ? hub_.WaitForMoreThan(connected, task.deadline) : hub_.WaitUntilSettled(task.deadline);
    if (!news && !hub_.IsSettled()) {
      return Unavailable("the controller has just started and waits for its nodes; try again");
    }
  }
}

std::vector<link::NodeView> VolumeCreation::NodesFor(
    const csi::v1::TopologyRequirement& requirement) const {
  if (IsFreeChoice(requirement)) return hub_.Nodes();
  return hub_.Nodes(AllowedNodes(requirement, driver_name_));
}

bool VolumeCreation::Allows(const csi::v1::TopologyRequirement& requirement,
                            const std::string& node) const {
  if (IsFreeChoice(requirement)) return true;
  const std::vector<std::string> allowed = AllowedNodes(requirement, driver_name_);
  return std::ranges::find(allowed, node) != allowed.end();
}

void VolumeCreation::GiveUp(const std::string& name, const std::string& node,
                            const std::string& pool) {
  superseded_.Add({.node = node, .name = name, .pool = pool});
}

VolumeCreation::Attempt VolumeCreation::CreateOn(const std::string& node, const Task& task) {
  const std::string& name = task.wanted.name;
  task.asked.insert(node);
  const std::vector<link::NodeView> views =
      hub_.WaitFor(node, task.deadline) ? hub_.Nodes({node}) : std::vector<link::NodeView>();
  if (views.empty()) {
    return {Outcome::kUnsent, Unavailable("node '{}' is not connected", node)};
  }
  if (const auto old = hub_.names().FindSuperseded(name, node)) {
    // What it may have of that name has been given up, and must not come back to life.
    const absl::Status deleted = superseded_.Delete(*old, task.deadline);
    if (!deleted.ok()) {
      return {Outcome::kUncertain, WithCode(deleted, absl::StatusCode::kUnavailable)};
    }
    hub_.names().SupersededIsGone(*old);
  }
  hub_.names().CreationStarts(name, node, PoolNamesText(task.wanted.pools));
  auto answer = AskToCreate(node, task);
  if (absl::IsNotFound(answer.status()) && !task.request.has_volume_content_source()) {
    answer = WithCode(answer.status(), absl::StatusCode::kInternal);
  }
  if (!answer.ok()) {
    if (IsUncertain(answer.status())) return {Outcome::kUncertain, answer.status()};
    if (!absl::IsAlreadyExists(answer.status())) hub_.names().CreationRefused(name, node);
    return {Outcome::kRefused, answer.status()};
  }
  const absl::Status taken = TakeAnswer(views.front(), task, *answer);
  return {taken.ok() ? Outcome::kMade : Outcome::kRejected, taken};
}

// The node of the source needs nothing from another one.
absl::StatusOr<std::string> VolumeCreation::AskToCreate(const std::string& node, const Task& task) {
  const csi::v1::CreateVolumeRequest request = RequestTo(node, task);
  if (task.origin == nullptr || task.origin->snapshot.node == node) {
    return nodes_.Ask(node, request, task.deadline);
  }
  link::v1::Incoming incoming;
  *incoming.mutable_content() = task.origin->content;
  if (task.origin->snapshot.node.empty()) {  // the node reads it itself
    incoming.set_snapshot(ToSnapshotId(task.origin->snapshot));
    return nodes_.AskToCreate(node, request, incoming, task.deadline);
  }
  incoming.set_ticket(issue_ticket_({.content = ToSnapshotId(task.origin->snapshot),
                                     .version = task.origin->content.version(),
                                     .source = task.origin->snapshot.node,
                                     .target = node}));
  return nodes_.AskToCreate(node, request, incoming, task.deadline);
}

csi::v1::CreateVolumeRequest VolumeCreation::OnlyOn(
    const std::string& node, const csi::v1::CreateVolumeRequest& request) const {
  csi::v1::CreateVolumeRequest narrowed = request;
  auto& place = *narrowed.mutable_accessibility_requirements();
  place.Clear();
  *place.add_requisite() = rpc::NodeTopology(driver_name_, node);
  return narrowed;
}

csi::v1::CreateVolumeRequest VolumeCreation::RequestTo(const std::string& node,
                                                       const Task& task) const {
  const auto& requisite = task.request.accessibility_requirements().requisite();
  const csi::v1::Topology here = rpc::NodeTopology(driver_name_, node);
  // They may name thousands; a node that is one of them needs to know no more.
  if (std::ranges::any_of(requisite,
                          [&](const auto& one) { return rpc::IsAccessibleFrom(one, here); })) {
    return OnlyOn(node, task.request);
  }
  return task.request;
}

// A node that has no such pool cannot have made anything in it, whatever it answers.
absl::Status VolumeCreation::TakeAnswer(const link::NodeView& node, const Task& task,
                                        const std::string& answer) {
  csi::v1::CreateVolumeResponse answered;
  RETURN_IF_ERROR(ParseAnswer(node.name, answer, answered));
  const link::v1::Pool* const pool = PoolOfAnswer(node, task.wanted, answered);
  if (pool == nullptr) {
    return Refuse(node.name, fmt::format("it has no such pool (pool: '{}')",
                                         PoolNamesText(task.wanted.pools)));
  }
  ASSIGN_OR_RETURN(const VolumeId id, IdForName(node, *pool, task.wanted.name));
  ASSIGN_OR_RETURN(
      *task.response.mutable_volume(),
      TakeVolume(answered.volume(), id, {.least = task.wanted.bytes, .most = task.wanted.limit},
                 driver_name_));
  if (task.request.has_volume_content_source()) {
    *task.response.mutable_volume()->mutable_content_source() =
        task.request.volume_content_source();
  }
  hub_.names().Created(id, task.wanted.name);
  return absl::OkStatus();
}

}  // namespace holdfast::controller
