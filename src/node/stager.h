// SPDX-License-Identifier: Apache-2.0
// NodeStageVolume and NodeUnstageVolume without protobuf: a volume becomes a device of this node
// and, unless it is raw block, a mounted filesystem at the staging path.
#pragma once

#include <string>

#include "core/key_lock.h"
#include "core/volume_use.h"
#include "pool/pools.h"
#include "state/node_state.h"

namespace holdfast::node {

// Thread-safe; for one volume, the caller holds its lock.
class Stager final {
 public:
  // `path_locks` are the ones that the Publisher of this node has. All three outlive it.
  Stager(const pool::Pools& pools, const state::NodeState& state, KeyLock& path_locks)
      : pools_(pools), state_(state), path_locks_(path_locks) {}

  // Idempotent on a live mount: nothing is checked, formatted or mounted twice. On any error what
  // this call began is undone.
  //   INVALID_ARGUMENT     the pool needs secrets, and the call brought none
  //   NOT_FOUND            no such volume
  //   ALREADY_EXISTS       staged there with another use, or something else is mounted there
  //   FAILED_PRECONDITION  the volume cannot be used in this way, is staged elsewhere, or does not
  //                        hold what its record says; or there is no such staging directory
  //   ABORTED              another call is at work at the staging path
  [[nodiscard]] absl::Status Stage(const std::string& volume_id, const std::string& staging_path,
                                   const VolumeUse& use, const Secrets& secrets = {}) const;

  // Works only from what the kernel shows; OK for a volume that was never staged, or only partly
  // staged, and for a path at which another volume is staged, or not this one (nothing is done
  // then). FAILED_PRECONDITION, with nothing changed, while the volume is published or otherwise
  // mounted, or where something that is not a volume is mounted; ABORTED as above.
  [[nodiscard]] absl::Status Unstage(const std::string& volume_id,
                                     const std::string& staging_path) const;

 private:
  const pool::Pools& pools_;
  const state::NodeState& state_;
  KeyLock& path_locks_;
};

}  // namespace holdfast::node
