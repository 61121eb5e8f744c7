// SPDX-License-Identifier: Apache-2.0
// How a Ceph cluster is reached, and as which user with which key. docs/ceph.md explains each
// setting.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/pool_config.h"
#include "core/secrets.h"
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

// The key of client.`user` in the text of a Ceph keyring ("[client.NAME]", "key = ..."), or the
// text itself where it is nothing but a key (a Kubernetes secret's userKey, mounted as a file).
// FAILED_PRECONDITION, without any of the text, if there is none.
[[nodiscard]] absl::StatusOr<std::string> FindCephKey(std::string_view text, std::string_view user);

// The same from a file. FAILED_PRECONDITION also if it cannot be read.
[[nodiscard]] absl::StatusOr<std::string> ReadCephKey(const std::string& path,
                                                      std::string_view user);

// The key of the user that reaches the cluster, from the access itself or its keyring. Errors as
// ReadCephKey.
[[nodiscard]] absl::StatusOr<std::string> KeyOf(const CephAccess& access);

// The user that a CSI call brings along: secrets userID and userKey.
struct CephUser {
  std::string name;  // without "client."
  std::string key;   // base64 text
};

// INVALID_ARGUMENT naming `secrets` and what of it is missing or malformed, never a value.
[[nodiscard]] absl::StatusOr<CephUser> UserIn(const Secrets& secrets);

}  // namespace holdfast::rbd
