// SPDX-License-Identifier: Apache-2.0
// Leftovers on the node's side: devices that are not staged, stage records of what is not staged
// any more, growths of mounted filesystems that a kill interrupted.
#pragma once

#include <string>
#include <vector>

#include "core/leftover.h"
#include "node/expander.h"
#include "os/mount_table.h"
#include "pool/pools.h"
#include "state/node_state.h"

namespace holdfast::node {

// Thread-safe. Unmounts nothing: what is mounted is in use.
class StageReconciler final {
 public:
  StageReconciler(const pool::Pools& pools, const state::NodeState& state)
      : pools_(pools), state_(state), expander_(pools, state.stages) {}

  // What is left of volumes of this pool, or, for nullptr, of those that no pool here has, as far
  // as it shows without a lock; Repair looks again. INTERNAL when the mount table or the stage
  // records cannot be read.
  [[nodiscard]] absl::StatusOr<std::vector<Leftover>> Find(pool::Pool* pool) const;

  // Ends it; false if there is nothing to end any more. The caller holds the volume's lock. The
  // error says what keeps it as it is.
  [[nodiscard]] absl::StatusOr<bool> Repair(const std::string& volume_id) const;

 private:
  absl::StatusOr<std::optional<LeftoverKind>> Classify(const std::string& volume_id,
                                                       const os::MountTable& mounts) const;
  [[nodiscard]] absl::Status RepairStaging(const std::string& volume_id) const;
  [[nodiscard]] absl::Status RepairGrowth(const std::string& volume_id) const;
  [[nodiscard]] absl::Status GiveBack(const std::string& volume_id) const;
  [[nodiscard]] absl::Status RepairVoidRecord(const std::string& volume_id) const;

  const pool::Pools& pools_;
  const state::NodeState& state_;
  const Expander expander_;
};

}  // namespace holdfast::node
