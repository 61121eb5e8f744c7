// SPDX-License-Identifier: Apache-2.0
// How a Ceph cluster is reached, and as which user. docs/ceph.md explains each setting.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/pool_config.h"
#include "core/status.h"
#include "core/topology_segment.h"

namespace holdfast::rbd {

struct CephAccess {
  std::string monitors;   // "HOST:PORT;HOST:PORT"; empty: the configuration file names them
  std::string conf;       // absolute path of a ceph.conf; empty: none is read
  std::string user;       // "holdfast" for client.holdfast; empty: calls bring it as secrets
  std::string keyring;    // absolute path of a Ceph keyring, or of a file with the bare key
  std::string key;        // instead of the keyring, when a call brought it; only in memory
  std::string data_pool;  // where images keep their data; empty: in the pool itself

  friend auto operator<=>(const CephAccess&, const CephAccess&) = default;
};

// How pools in Ceph are written: rbd:CEPHPOOL[/NAMESPACE].
[[nodiscard]] const PoolSyntax& RbdSyntax();

// The access that a pool's keys state. INVALID_ARGUMENT naming the key that is wrong or missing.
[[nodiscard]] absl::StatusOr<CephAccess> ParseCephAccess(const PoolKeys& keys);

// The segment of the nodes that reach the pool; none: every node does. INVALID_ARGUMENT as above.
[[nodiscard]] absl::StatusOr<std::optional<TopologySegment>> ParseTopology(const PoolKeys& keys);

// INVALID_ARGUMENT unless it is a name of A-Z, a-z, 0-9, '.', '_' and '-': such names also go to
// the kernel, in a line whose words are separated by blanks and commas.
[[nodiscard]] absl::Status CheckCephName(std::string_view name);

}  // namespace holdfast::rbd
