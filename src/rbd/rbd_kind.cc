// SPDX-License-Identifier: Apache-2.0
#include "rbd/rbd_kind.h"

#include "rbd/ceph_access.h"
#include "rbd/image_name.h"
#include "rbd/rbd_checks.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {

namespace {

// Pools share connections, which end with the last of them: a library that is still connected when
// the process exits may hang there.
std::shared_ptr<Clusters> SharedClusters() {
  static std::weak_ptr<Clusters> present;
  std::shared_ptr<Clusters> clusters = present.lock();
  if (clusters == nullptr) {
    clusters = std::make_shared<Clusters>();
    present = clusters;
  }
  return clusters;
}

absl::StatusOr<std::unique_ptr<pool::Pool>> Open(const PoolConfig& config,
                                                 const pool::Process& process) {
  return RbdPool::Open(config, process, SharedClusters());
}

}  // namespace

pool::PoolKind RbdKind() {
  return {.syntax = &RbdSyntax(),
          .open = Open,
          .proof = RbdProof(),
          .check_node = nullptr,
          .retire_idle_devices = nullptr,
          .examine_host = nullptr,
          .examine_pool = ExaminePool};
}

}  // namespace holdfast::rbd
