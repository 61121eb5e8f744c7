// SPDX-License-Identifier: Apache-2.0
// What this instance has itself, as people want to see it: pools, volumes, snapshots, leftovers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pool/pools.h"
#include "proto/admin.pb.h"
#include "server/reconciler.h"
#include "state/stage_store.h"

namespace holdfast::server {

// A part of a list (`next` of each response leads to the next one).
struct Part {
  std::string after{};  // what `next` of the part before was; empty: the first part
  // For a controller: only what is on this node, and only what can be said at once.
  bool for_controller = false;
};

// Thread-safe. Changes nothing. A pool that cannot be asked is named in `unreachable`, and the
// others are listed.
class OwnInventory final {
 public:
  // All of these outlive it. `node` is empty on a controller.
  OwnInventory(const pool::Pools& pools, const state::StageStore& stages,
               const Reconciler& reconciler, std::string node)
      : pools_(pools), stages_(stages), reconciler_(reconciler), node_(std::move(node)) {}

  [[nodiscard]] const std::string& node() const { return node_; }

  [[nodiscard]] absl::Status Fill(const Part& part, admin::v1::ListPoolsResponse& response) const;
  [[nodiscard]] absl::Status Fill(const Part& part, admin::v1::ListVolumesResponse& response) const;
  [[nodiscard]] absl::Status Fill(const Part& part,
                                  admin::v1::ListSnapshotsResponse& response) const;
  [[nodiscard]] absl::Status Fill(const Part& part,
                                  admin::v1::ListLeftoversResponse& response) const;
  // This node; nothing on a controller.
  [[nodiscard]] absl::Status Fill(const Part& part, admin::v1::ListTrashResponse& response) const;
  [[nodiscard]] absl::Status Fill(const Part& part, admin::v1::ListNodesResponse& response) const;

 private:
  [[nodiscard]] std::vector<pool::Pool*> PoolsOf(const Part& part) const;
  void AddVolumes(pool::Pool& pool, std::vector<Volume> volumes,
                  admin::v1::ListVolumesResponse& response) const;
  void AddUnfinished(const Part& part, admin::v1::ListVolumesResponse& response) const;

  const pool::Pools& pools_;
  const state::StageStore& stages_;
  const Reconciler& reconciler_;
  const std::string node_;
};

}  // namespace holdfast::server
