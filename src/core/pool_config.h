// SPDX-License-Identifier: Apache-2.0
// What an operator says of one pool: "NAME=file:DIRECTORY[,key=value...]" or
// "NAME=rbd:CEPHPOOL[/NAMESPACE][,key=value...]".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/status.h"
#include "core/topology_segment.h"

namespace holdfast {

// How much of the storage that carries a pool may be promised. docs/parameters.md explains each.
struct SpacePolicy {
  Bytes reserve_bytes = 0;         // kept for the host: this many bytes, or ...
  double reserve_fraction = 0.05;  // ... this part of the filesystem, whichever is larger
  double overcommit = 1.0;         // thin bytes promised per byte of room; 1: all can be kept
  double watermark = 0.9;          // no thin promises while more than this part is in use
};

// How a Ceph cluster is reached, and as whom. docs/ceph.md explains each.
struct CephAccess {
  std::string monitors;   // "HOST:PORT;HOST:PORT"; empty: the configuration file names them
  std::string conf;       // absolute path of a ceph.conf; empty: none is read
  std::string user;       // "holdfast" for client.holdfast; empty: calls bring it as secrets
  std::string keyring;    // absolute path of a Ceph keyring, or of a file with the bare key
  std::string key;        // instead of the keyring, when a call brought it; in memory alone
  std::string data_pool;  // where images keep their data; empty: in the pool itself

  friend auto operator<=>(const CephAccess&, const CephAccess&) = default;
};

struct PoolConfig {
  std::string name;
  std::string kind;                         // "file" or "rbd"
  std::string location;                     // absolute directory, or CEPHPOOL[/NAMESPACE]
  std::string default_filesystem = "ext4";  // for requests that name none
  SpacePolicy space;                        // file pools only
  CephAccess ceph;                          // rbd pools only
  // The segment of the nodes that reach it; none: every node does. rbd pools only.
  std::optional<TopologySegment> topology = std::nullopt;
  // The pool was copied to another filesystem on purpose: its marker may be rewritten for it.
  bool accept_move = false;
};

// INVALID_ARGUMENT unless it is a name of A-Z, a-z, 0-9, '.', '_' and '-': such names also go to
// the kernel, in a line whose words are separated by blanks and commas.
[[nodiscard]] absl::Status CheckCephName(std::string_view name);

// Parses the text of one --pool flag. INVALID_ARGUMENT naming the part that is wrong; unknown keys
// are errors.
[[nodiscard]] absl::StatusOr<PoolConfig> ParsePool(std::string_view text);

// Builds the same from a name, "KIND:LOCATION" and the keys of that kind.
[[nodiscard]] absl::StatusOr<PoolConfig> MakePoolConfig(
    const std::string& name, std::string_view storage,
    const std::map<std::string, std::string>& keys);

}  // namespace holdfast
