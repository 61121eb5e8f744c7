// SPDX-License-Identifier: Apache-2.0
// A node's Kubernetes ServiceAccount token: a JWT (RFC 7519) that the cluster signed for one pod
// and that names the pod's node.
#pragma once

#include <chrono>
#include <string>

#include "core/status.h"

namespace holdfast::link {

// Which tokens are accepted.
struct TokenPolicy {
  std::string audience;  // that the token was asked for
  std::string subject;   // system:serviceaccount:NAMESPACE:NAME of the node's pods
};

// The node for whose pod `token` was issued: its claim kubernetes.io/node/name, which tokens
// have since Kubernetes 1.32. `keys` is the cluster's JSON Web Key Set. UNAUTHENTICATED, without a
// word of the token, when it is not a JWT, not signed by one of the keys, for another audience or
// subject, not valid at `now` (30 s of difference between clocks are tolerated), issued for more
// than two hours or without a time of issue (`iat`), bound to no pod (name and uid), or names no
// node; UNAVAILABLE when its key is not in the set: the cluster may have a new one. Thread-safe.
[[nodiscard]] absl::StatusOr<std::string> NodeOfToken(const std::string& token,
                                                      const std::string& keys,
                                                      const TokenPolicy& policy,
                                                      std::chrono::system_clock::time_point now);

}  // namespace holdfast::link
