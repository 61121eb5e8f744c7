// SPDX-License-Identifier: Apache-2.0
#include "rbd/rbd_kind.h"

#include <string>
#include <vector>

#include "rbd/ceph_access.h"
#include "rbd/ceph_pool.h"
#include "rbd/image.h"
#include "rbd/image_name.h"
#include "rbd/rbd_device.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

Finding WithStatus(Finding finding, const absl::Status& status, FindingLevel level,
                   std::string remedy) {
  if (status.ok()) return finding;
  finding.level = level;
  finding.found = MessageOf(status);
  finding.remedy = std::move(remedy);
  return finding;
}

Finding CheckCluster(const std::string& what, const PoolConfig& pool) {
  Finding finding{.what = what + ", cluster", .why = "its volumes and their records are there"};
  const absl::StatusOr<CephAccess> access = ParseCephAccess(pool.keys);
  if (access.ok() && access->user.empty()) {
    finding.found = "not looked at: calls bring the user and its key as secrets";
    return finding;
  }
  const auto cluster = access.ok() ? Cluster::Connect(*access) : access.status();
  if (!cluster.ok()) {
    return WithStatus(std::move(finding), cluster.status(), FindingLevel::kMissing,
                      "check monitors, user, keyring and the network; docs/ceph.md has the caps");
  }
  const auto opened = CephPool::Open(*cluster, pool.location);
  if (opened.ok()) finding.found = (*opened)->identity().ToString();
  return WithStatus(std::move(finding), opened.status(), FindingLevel::kMissing,
                    "make the Ceph pool and its name space, or correct their names");
}

// Ceph's library, the user's key, the kernel's client, and whether the cluster answers. Changes
// nothing. Takes until the time limit if the cluster cannot be reached.
std::vector<Finding> ExaminePool(const PoolConfig& pool, const std::string&) {
  const std::string what = fmt::format("pool '{}'", pool.name);
  const Finding kernel{.what = what + ", kernel",
                       .found = "rbd with all features that are needed",
                       .why =
                           "the kernel's client makes the volumes of this pool devices; a "
                           "controller needs none"};
  return {CheckCluster(what, pool), WithStatus(kernel, RequireRbdFeatures(kImageFeatures),
                                               FindingLevel::kWarning, "on a node: modprobe rbd")};
}

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
