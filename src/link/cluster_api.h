// SPDX-License-Identifier: Apache-2.0
// The API server of the Kubernetes cluster whose pod this process is, asked with the pod's own
// ServiceAccount.
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast::link {

// Thread-safe. Each call makes a connection of its own, takes at most a few seconds, and reads the
// pod's token, which the kubelet renews. Errors of all calls: NOT_FOUND, PERMISSION_DENIED (also
// without a token that the server accepts), and UNAVAILABLE for all else.
class ClusterApi final {
 public:
  // `server`: https://HOST[:PORT]. Its certificate must be of the cluster's CA, which the pod has.
  explicit ClusterApi(std::string server) : server_(std::move(server)) {}

  // The body, of at most 1 MiB. `path` begins with a slash.
  [[nodiscard]] absl::StatusOr<std::string> Get(const std::string& path) const;
  // Creates an object.
  [[nodiscard]] absl::Status Post(const std::string& path, const std::string& json) const;

 private:
  const std::string server_;
};

}  // namespace holdfast::link
