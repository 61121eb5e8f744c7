// SPDX-License-Identifier: Apache-2.0
// The configured endpoints for health checks and metrics.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <vector>

#include "core/config.h"
#include "server/health.h"
#include "server/http_endpoint.h"
#include "server/metrics.h"

namespace holdfast::server {

// Serves until it is destroyed.
class MonitoringEndpoints final {
 public:
  // `server` is the one on the CSI socket; it and `metrics` outlive the observation.
  // FAILED_PRECONDITION when an address cannot be had.
  [[nodiscard]] static absl::StatusOr<MonitoringEndpoints> Start(const Config& config,
                                                                 grpc::Server& server,
                                                                 const Metrics& metrics);

 private:
  std::unique_ptr<Health> health_;
  std::vector<std::unique_ptr<HttpEndpoint>> http_;
};

}  // namespace holdfast::server
