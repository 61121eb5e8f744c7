// SPDX-License-Identifier: Apache-2.0
// NodePublishVolume and NodeUnpublishVolume without protobuf: a staged volume becomes visible at a
// pod's target path.
#pragma once

#include <string>

#include "core/key_lock.h"
#include "core/volume_use.h"
#include "os/request_path.h"
#include "pool/pools.h"
#include "state/stage_store.h"

namespace holdfast::node {

struct PublishRequest {
  std::string volume_id;
  std::string staging_path;
  std::string target_path;
  VolumeUse use;
  bool read_only = false;
  std::string pod{};  // "NAMESPACE/NAME"; empty: not known
  Secrets secrets{};  // none: the most recent ones that worked
};

// Thread-safe; for one volume, the caller holds its lock.
class Publisher final {
 public:
  // `path_locks` are the ones that the Stager of this node has. All three outlive it.
  Publisher(const pool::Pools& pools, const state::StageStore& stages, KeyLock& path_locks)
      : pools_(pools), stages_(stages), path_locks_(path_locks) {}

  // Idempotent; never stacks a second mount. On any error what this call began is undone.
  //   NOT_FOUND            no such volume
  //   ALREADY_EXISTS       published there in another way, or something else is mounted there
  //   FAILED_PRECONDITION  no parent directory of the target, not staged, cannot be used so, or
  //                        published elsewhere on this node with an access mode that allows one
  //                        publication only
  //   ABORTED              another call is at work at the target
  [[nodiscard]] absl::Status Publish(const PublishRequest& request) const;

  // Works only from what the kernel shows. Removes the target. OK for what was never published,
  // and, with nothing done, where another volume is: this one is not published there, and the CO
  // has nothing to wait for. FAILED_PRECONDITION where something that is not a volume is mounted,
  // which is left untouched, or the mount is busy; ABORTED as above.
  [[nodiscard]] absl::Status Unpublish(const std::string& volume_id,
                                       const std::string& target_path) const;

 private:
  const pool::Pools& pools_;
  const state::StageStore& stages_;
  KeyLock& path_locks_;
};

}  // namespace holdfast::node
