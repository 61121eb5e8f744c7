// SPDX-License-Identifier: Apache-2.0
#include "server/cluster_inventory.h"

#include <malloc.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "controller/node_calls.h"
#include "core/mutex.h"
#include "core/start_thread.h"
#include "server/inventory_commands.h"
#include "server/list_limits.h"
#include "server/node_entries.h"

namespace holdfast::server {
namespace {

using InventoryClock = link::Deadline::clock;

// Before the caller gives up: in which it is told what could not be listed.
constexpr std::chrono::seconds kTimeToAnswer{1};
constexpr std::size_t kMostTrash = std::size_t{1} << 17;  // of one node

// Most entries that a node may list: those that it has named, and a part for what it has made
// since, or not returned yet.
std::size_t MostEntries(const admin::v1::ListVolumesResponse&, link::Hub& hub,
                        const std::string& node) {
  return hub.names().Count(node) + kMostEntries;
}
std::size_t MostEntries(const admin::v1::ListSnapshotsResponse&, link::Hub& hub,
                        const std::string& node) {
  return hub.snapshot_names().Count(node) + kMostEntries;
}
std::size_t MostEntries(const admin::v1::ListPoolsResponse&, link::Hub&, const std::string&) {
  return link::kMaxPoolsOfNode;
}
// A volume or a snapshot may be one, and so may what is left of one.
std::size_t MostEntries(const admin::v1::ListLeftoversResponse&, link::Hub& hub,
                        const std::string& node) {
  return 2 * (hub.names().Count(node) + hub.snapshot_names().Count(node)) + kMostEntries;
}

// What was deleted is no longer named, so there is a limit for all nodes.
std::size_t MostEntries(const admin::v1::ListTrashResponse&, link::Hub&, const std::string&) {
  return kMostTrash;
}

int EntriesOf(const admin::v1::ListTrashResponse& response) { return response.trash_size(); }
int EntriesOf(const admin::v1::ListVolumesResponse& response) { return response.volumes_size(); }
int EntriesOf(const admin::v1::ListSnapshotsResponse& response) {
  return response.snapshots_size();
}
int EntriesOf(const admin::v1::ListPoolsResponse& response) { return response.pools_size(); }
int EntriesOf(const admin::v1::ListLeftoversResponse& response) {
  return response.leftovers_size();
}

absl::Status TakesNoMore() {
  return MakeStatus(absl::StatusCode::kCancelled, "the caller takes no more");
}

template <typename Response>
Response Missing(const std::string& node, const std::string& problem) {
  Response response;
  admin::v1::Unreachable& missing = *response.add_unreachable();
  missing.set_node(node);
  missing.set_problem(problem);
  return response;
}

std::string WhyMissing(const std::string& node) {
  return fmt::format("node '{}' is not connected; its pod's log says why", node);
}

// Hands each of `count` numbers to `work` on several threads, this one among them, until there are
// no more or `work` is false. As many threads as the system gives.
void ForEach(std::size_t count, std::size_t threads, const std::function<bool(std::size_t)>& work) {
  Mutex mutex;
  std::size_t next = 0;
  const auto run = [&] {
    while (true) {
      std::size_t mine = 0;
      {
        const MutexLock lock(mutex);
        if (next >= count) return;
        mine = next++;
      }
      if (work(mine)) continue;
      const MutexLock lock(mutex);
      next = count;
    }
  };
  std::vector<std::thread> helpers;
  while (helpers.size() + 1 < std::min(threads, count)) {
    auto started = StartThread(run);
    if (!started.ok()) break;
    helpers.push_back(*std::move(started));
  }
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace

// CANCELLED only if the caller takes no more: no code of a node's is that one.
template <typename Response>
absl::Status ClusterInventory::AskNode(const link::NodeView& node, link::Deadline deadline,
                                       const Take<Response>& take) {
  controller::NodeCalls calls(hub_);
  admin::v1::ListRequest request;
  std::size_t left = MostEntries(Response(), hub_, node.name);
  do {
    ASSIGN_OR_RETURN(const std::string bytes,
                     calls.AskFor(node.name, controller::Codes::kOfList, ListMethodOf(Response()),
                                  request, deadline));
    Response part;
    RETURN_IF_ERROR(controller::ParseAnswer(node.name, bytes, part));
    const absl::Status sound = TakeFrom(node, part);
    if (!sound.ok()) return controller::Refuse(node.name, MessageOf(sound));
    const auto entries = static_cast<std::size_t>(EntriesOf(part));
    if (entries > left || (entries == 0 && !part.next().empty())) {
      return controller::Refuse(node.name, "it lists more than it can have");
    }
    left -= entries;
    request.set_after(part.next());
    part.clear_next();
    if (!take(part)) return TakesNoMore();
  } while (!request.after().empty());
  return absl::OkStatus();
}

template <typename Response>
absl::Status ClusterInventory::List(const std::string& node, link::Deadline deadline,
                                    const Take<Response>& take) {
  if (!hub_.WaitUntilSettled(deadline)) {
    return Unavailable("the controller has just started and waits for its nodes; try again");
  }
  const auto wait = std::max<InventoryClock::duration>(deadline - InventoryClock::now(),
                                                       InventoryClock::duration::zero());
  const auto permit = lists_.Acquire(std::chrono::duration_cast<std::chrono::milliseconds>(wait));
  if (permit == nullptr) {
    return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                      "other lists of all nodes are under way; try again");
  }
  const std::vector<link::NodeView> nodes =
      node.empty() ? hub_.Nodes() : hub_.Nodes(std::vector<std::string>{node});
  Mutex mutex;
  bool wanted = true;
  const Take<Response> take_in_turn = [&](const Response& part) {
    const MutexLock lock(mutex);
    wanted = wanted && take(part);
    return wanted;
  };
  std::vector<std::string> missing =
      node.empty() ? hub_.Missing() : std::vector<std::string>(nodes.empty() ? 1 : 0, node);
  // Of what is declared lost, nothing is missing.
  std::erase_if(missing, [&](const std::string& name) { return hub_.lost_pools().HasNode(name); });
  for (const std::string& name : missing) {
    if (!take_in_turn(Missing<Response>(name, WhyMissing(name)))) return TakesNoMore();
  }
  ForEach(nodes.size(), kNodesAtOnce, [&](std::size_t i) {
    const link::Deadline until =
        std::min(deadline - kTimeToAnswer, InventoryClock::now() + kPatience);
    const absl::Status asked = AskNode<Response>(nodes[i], until, take_in_turn);
    if (asked.ok()) return true;
    if (absl::IsCancelled(asked)) return false;
    return take_in_turn(Missing<Response>(nodes[i].name, MessageOf(asked)));
  });
  ::malloc_trim(0);  // the heap has grown by the parts that came at the same time
  return wanted ? absl::OkStatus() : TakesNoMore();
}

// Nodes that are gone with a pool that is declared lost; one that is there says itself how it is.
void ClusterInventory::AddLost(const std::string& node,
                               admin::v1::ListNodesResponse& response) const {
  std::map<std::string, std::vector<std::string>> pools_of;
  for (const LostPool& lost : hub_.lost_pools().declared()) {
    if (!node.empty() && lost.node != node) continue;
    if (hub_.Nodes({lost.node}).empty()) pools_of[lost.node].push_back(lost.pool);
  }
  for (const auto& [name, pools] : pools_of) {
    admin::v1::Node& lost = *response.add_nodes();
    lost.set_name(name);
    lost.set_state("lost");
    lost.set_problem(fmt::format("declared lost: {}", fmt::join(pools, ", ")));
  }
}

admin::v1::ListNodesResponse ClusterInventory::Nodes(const std::string& node) const {
  admin::v1::ListNodesResponse response;
  for (const link::NodeView& view : hub_.Nodes()) {
    if (node.empty() || view.name == node) Describe(view, hub_, *response.add_nodes());
  }
  for (const std::string& name : hub_.Missing()) {
    if ((!node.empty() && name != node) || hub_.lost_pools().HasNode(name)) continue;
    admin::v1::Node& missing = *response.add_nodes();
    missing.set_name(name);
    missing.set_state("missing");
    missing.set_problem(WhyMissing(name));
  }
  AddLost(node, response);
  return response;
}

template absl::Status ClusterInventory::List(const std::string&, link::Deadline,
                                             const Take<admin::v1::ListPoolsResponse>&);
template absl::Status ClusterInventory::List(const std::string&, link::Deadline,
                                             const Take<admin::v1::ListVolumesResponse>&);
template absl::Status ClusterInventory::List(const std::string&, link::Deadline,
                                             const Take<admin::v1::ListSnapshotsResponse>&);
template absl::Status ClusterInventory::List(const std::string&, link::Deadline,
                                             const Take<admin::v1::ListLeftoversResponse>&);
template absl::Status ClusterInventory::List(const std::string&, link::Deadline,
                                             const Take<admin::v1::ListTrashResponse>&);

}  // namespace holdfast::server
