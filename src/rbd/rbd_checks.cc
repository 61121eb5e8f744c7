// SPDX-License-Identifier: Apache-2.0
#include "rbd/rbd_checks.h"

#include "os/rbd_device.h"
#include "rbd/ceph_access.h"
#include "rbd/ceph_pool.h"
#include "rbd/image.h"

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

}  // namespace

std::vector<Finding> ExaminePool(const PoolConfig& pool, const std::string&) {
  const std::string what = fmt::format("pool '{}'", pool.name);
  const Finding kernel{.what = what + ", kernel",
                       .found = "rbd with all features that are needed",
                       .why =
                           "the kernel's client makes the volumes of this pool devices; a "
                           "controller needs none"};
  return {CheckCluster(what, pool), WithStatus(kernel, os::RequireRbdFeatures(kImageFeatures),
                                               FindingLevel::kWarning, "on a node: modprobe rbd")};
}

}  // namespace holdfast::rbd
