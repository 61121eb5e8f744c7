// SPDX-License-Identifier: Apache-2.0
// NodePublishVolume and NodeUnpublishVolume without protobuf: a staged volume becomes visible at a
// pod's target path.
#pragma once

#include <string>

#include "core/volume_use.h"
#include "os/target_path.h"
#include "pool/pools.h"
#include "pool/stage_store.h"

namespace holdfast::node {

struct PublishRequest {
  std::string volume_id;
  std::string staging_path;
  std::string target_path;
  VolumeUse use;
  bool read_only = false;
  Secrets secrets{};  // none: as the last user who reached the pool
};

// Thread-safe; for one volume, the caller holds its lock.
class Publisher final {
 public:
  Publisher(const pool::Pools& pools, const pool::StageStore& stages)
      : pools_(pools), stages_(stages) {}

  // Idempotent; never stacks a second mount. On any error what this call began is undone.
  //   NOT_FOUND            no such volume
  //   ALREADY_EXISTS       published there in another way, or something else is mounted there
  //   FAILED_PRECONDITION  no parent directory of the target, not staged, cannot be used so, or
  //   published elsewhere on this node with
  //                        an access mode that allows one publication only
  [[nodiscard]] absl::Status Publish(const PublishRequest& request) const;

  // Works from the mount table alone; OK for what was never published. Removes the target.
  [[nodiscard]] absl::Status Unpublish(const std::string& volume_id,
                                       const std::string& target_path) const;

 private:
  const pool::Pools& pools_;
  const pool::StageStore& stages_;
};

}  // namespace holdfast::node
