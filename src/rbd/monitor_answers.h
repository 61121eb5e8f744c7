// SPDX-License-Identifier: Apache-2.0
// What a cluster's monitors say of pools, of clients and of themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

struct PoolStatistics {
  Bytes stored = 0;  // by everybody, without replicas
  // That could still be stored: replication, the fullest disk and a quota of bytes count. A quota
  // of objects does not: how many objects a volume will have is unknown.
  Bytes available = 0;
};

// Of the pool that `name` names. Nothing when the cluster has no statistics, because no manager
// (ceph-mgr) runs.
[[nodiscard]] absl::StatusOr<std::optional<PoolStatistics>> AskStatistics(Cluster& cluster,
                                                                          const std::string& name);
[[nodiscard]] absl::StatusOr<std::optional<PoolStatistics>> ParseStatistics(
    const std::string& answer, const std::string& name);

// Whether the cluster refuses the client of that address (Ceph's blocklist).
[[nodiscard]] absl::StatusOr<bool> IsFenced(Cluster& cluster, const std::string& address);
[[nodiscard]] absl::StatusOr<bool> ParseFenced(const std::string& answer,
                                               const std::string& address);

// A pool as the monitors' words name it.
struct NamedPool {
  std::int64_t id = -1;
  std::string name;
};

// Why data of these pools may be unavailable, damaged or not writable, in Ceph's words: the names
// and summaries of its health checks that say so and are not muted. Empty if none does. Those are
// the errors, except of services that carry no data of images, and the warnings of which Ceph's
// documentation ("Health checks") says that requests are not served: PG_AVAILABILITY,
// OBJECT_UNFOUND, POOL_FULL, and OSDMAP_FLAGS of a cluster that is full or paused. A check whose
// details name other pools only is theirs.
[[nodiscard]] absl::StatusOr<std::string> AskDataProblem(Cluster& cluster,
                                                         const std::vector<NamedPool>& pools);
[[nodiscard]] absl::StatusOr<std::string> ParseDataProblem(const std::string& answer,
                                                           const std::vector<NamedPool>& pools);

struct MonitorAddresses {
  std::vector<std::string> addresses;  // "10.0.0.1:6789"
  bool messenger_v2 = false;           // no monitor speaks the first protocol
};

// Addresses for the kernel's client, which takes numbers only.
[[nodiscard]] absl::StatusOr<MonitorAddresses> AskMonitorAddresses(Cluster& cluster);
[[nodiscard]] absl::StatusOr<MonitorAddresses> ParseMonitorAddresses(const std::string& answer);

}  // namespace holdfast::rbd
