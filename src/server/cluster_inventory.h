// SPDX-License-Identifier: Apache-2.0
// What the connected nodes of a controller have: each is asked for its own list, part by part.
#pragma once

#include <functional>
#include <string>

#include "core/semaphore.h"
#include "core/status.h"
#include "link/hub.h"
#include "proto/admin.pb.h"

namespace holdfast::server {

// Thread-safe. Nothing of a list is kept: a part is handed on before the node is asked for the next
// one, so that a list costs the parts of the nodes that are asked at the same time.
class ClusterInventory final {
 public:
  // Nodes that one list asks at the same time, each with a thread.
  static constexpr std::size_t kNodesAtOnce = 16;
  // Lists at the same time; others wait.
  static constexpr unsigned kListsAtOnce = 2;
  // That a node has for its whole list.
  static constexpr std::chrono::seconds kPatience{5};

  explicit ClusterInventory(link::Hub& hub) : hub_(hub) {}

  // False if the caller takes no more. Called by several threads, but never at the same time.
  template <typename Response>
  using Take = std::function<bool(const Response&)>;

  // The parts of one node's list, or of all of them if `node` is empty. Nodes that are missing, do
  // not answer in time, or answer what cannot be, are named in `unreachable` of a part; what was
  // taken of them before stays. UNAVAILABLE while the controller has just started and waits for its
  // nodes; DEADLINE_EXCEEDED if no other list ends in time; CANCELLED if the caller takes no more.
  // For the lists of pools, volumes, snapshots, leftovers and trash.
  template <typename Response>
  [[nodiscard]] absl::Status List(const std::string& node, link::Deadline deadline,
                                  const Take<Response>& take);

  // The nodes, without asking them.
  [[nodiscard]] admin::v1::ListNodesResponse Nodes(const std::string& node) const;

 private:
  void AddLost(const std::string& node, admin::v1::ListNodesResponse& response) const;
  template <typename Response>
  absl::Status AskNode(const link::NodeView& node, link::Deadline deadline,
                       const Take<Response>& take);

  link::Hub& hub_;
  Semaphore lists_{kListsAtOnce};
};

}  // namespace holdfast::server
