// SPDX-License-Identifier: Apache-2.0
// ListVolumes of a controller with nodes: which volumes there are is known from what the nodes have
// named; how they are is asked of each node, and left open where it does not answer.
#include <algorithm>
#include <unordered_map>

#include "controller/node_calls.h"
#include "controller/router.h"
#include "rpc/fields.h"
#include "rpc/topology.h"

namespace holdfast::controller {
namespace {

// Of one node at a time: with long texts still well below what one message may have.
constexpr std::size_t kPage = 500;
// gRPC clients take messages of 4 MiB; the rest is for the next page.
constexpr std::size_t kMostBytesOfVolumes = std::size_t{2} << 20;
// A node that does not answer costs no more than this, nor more than a quarter of what is left, so
// that there is always time for the others.
constexpr std::chrono::seconds kPatienceWithNode{3};

using Clock = link::Deadline::clock;
using Answers = std::unordered_map<std::string, csi::v1::ListVolumesResponse::Entry>;

link::Deadline ShareOf(link::Deadline deadline) {
  const auto left = std::max<Clock::duration>(deadline - Clock::now(), Clock::duration::zero());
  return Clock::now() + std::min<Clock::duration>(left / 4, kPatienceWithNode);
}

struct VolumesToken {
  std::string node;  // empty: the controller's own pools
  std::string after;
};

absl::StatusOr<VolumesToken> ParseVolumesToken(const std::string& text) {
  if (text.empty()) return VolumesToken{};
  const std::size_t bar = text.find('|');
  const std::string after = bar == text.npos ? "" : text.substr(bar + 1);
  if (bar == text.npos || (!after.empty() && !VolumeId::Parse(after))) {
    return Aborted(
        "starting_token was not given by an earlier ListVolumes; start again without it");
  }
  return VolumesToken{.node = text.substr(0, bar), .after = after};
}

// By id. What the node says of other volumes is of no interest.
Answers Index(csi::v1::ListVolumesResponse& answered) {
  Answers answers;
  for (auto& entry : *answered.mutable_entries()) {
    const std::string id = entry.volume().volume_id();
    answers.emplace(id, std::move(entry));
  }
  return answers;
}

}  // namespace

// The volumes `ids` of one node, as it describes them if it may be asked. One that it leaves out
// of an answer without a next page is there no more. False if it does not answer.
bool Router::AddNode(const std::vector<VolumeId>& ids, const std::string& after, bool ask,
                     link::Deadline deadline, csi::v1::ListVolumesResponse& response) {
  csi::v1::ListVolumesRequest request;
  request.set_starting_token(after);
  request.set_max_entries(static_cast<std::int32_t>(ids.size()));
  const std::string& node = ids.front().node;
  csi::v1::ListVolumesResponse answered;
  const bool speaks = ask && !env_.hub.Nodes({node}).empty() &&
                      AskNode(node, request, ShareOf(deadline), answered).ok();
  const bool whole = speaks && answered.next_token().empty();
  const Answers answers = speaks ? Index(answered) : Answers();
  for (const VolumeId& id : ids) {
    const auto found = answers.find(id.ToString());
    if (found == answers.end() && whole) continue;
    auto& entry = *response.add_entries();
    entry.mutable_volume()->set_volume_id(id.ToString());
    *entry.mutable_volume()->add_accessible_topology() = rpc::NodeTopology(env_.driver_name, node);
    // A size of 0 and a condition that is normal mean "not known".
    auto& condition = *entry.mutable_status()->mutable_volume_condition();
    if (const absl::Status lost = RequireNotLost(id.ToString()); !lost.ok()) {
      condition.set_abnormal(true);
      condition.set_message(MessageOf(lost));
      continue;
    }
    if (found == answers.end()) {
      condition.set_message("its node has not answered, so its condition is not known");
      continue;
    }
    entry.mutable_volume()->set_capacity_bytes(
        std::max<Bytes>(found->second.volume().capacity_bytes(), 0));
    condition = TakeCondition(found->second.status().volume_condition());
  }
  return speaks;
}

// A token is "<node>|<id of the last volume>": node after node. The controller's own volumes come
// first, under the empty name.
absl::Status Router::List(const csi::v1::ListVolumesRequest& request, link::Deadline deadline,
                          csi::v1::ListVolumesResponse& response) {
  if (request.max_entries() < 0) return InvalidArgument("max_entries is negative");
  ASSIGN_OR_RETURN(VolumesToken token, ParseVolumesToken(request.starting_token()));
  if (!env_.hub.WaitUntilSettled(deadline)) {
    return Unavailable("the controller has just started and waits for its nodes; try again");
  }
  if (token.node.empty() && !env_.own_pools.all().empty()) {
    csi::v1::ListVolumesRequest own = request;
    own.set_starting_token(token.after);
    RETURN_IF_ERROR(env_.own.List(own, response));
    if (!response.next_token().empty()) {
      response.set_next_token("|" + response.next_token());
      return absl::OkStatus();
    }
    token.after.clear();
  }
  const auto wanted = static_cast<std::size_t>(request.max_entries());
  std::size_t bytes = response.ByteSizeLong();
  for (const std::string& node : env_.hub.names().Nodes()) {
    if (node < token.node) continue;
    std::string after = node == token.node ? token.after : "";
    bool answers = true;
    while (true) {
      const auto have = static_cast<std::size_t>(response.entries_size());
      if ((wanted != 0 && have == wanted) || bytes > kMostBytesOfVolumes) {
        response.set_next_token(node + "|" + after);
        return absl::OkStatus();
      }
      const std::size_t limit = wanted == 0 ? kPage : std::min(kPage, wanted - have);
      const std::vector<VolumeId> ids =
          env_.hub.names().List(node, VolumeId::Parse(after).value_or(VolumeId{}), limit);
      if (ids.empty()) break;
      answers = AddNode(ids, after, answers, deadline, response);
      for (int i = static_cast<int>(have); i < response.entries_size(); ++i) {
        bytes += response.entries(i).ByteSizeLong();
      }
      after = ids.back().ToString();
    }
  }
  return absl::OkStatus();
}

grpc::Status Router::ListVolumes(grpc::ServerContext* context,
                                 const csi::v1::ListVolumesRequest* request,
                                 csi::v1::ListVolumesResponse* response) {
  return Serve(context, *request, *response,
               [&](link::Deadline deadline) { return List(*request, deadline, *response); });
}

}  // namespace holdfast::controller
