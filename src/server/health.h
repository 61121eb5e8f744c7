// SPDX-License-Identifier: Apache-2.0
// Health checks and metrics over HTTP, for clients that cannot call the CSI socket.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/status.h"
#include "proto/csi.grpc.pb.h"
#include "server/http_endpoint.h"
#include "server/metrics.h"

namespace holdfast::server {

// Asks Probe of the server that serves the CSI socket, through its own threads, so that one that is
// stuck is noticed. Thread-safe.
class Health final {
 public:
  // `server` outlives it.
  explicit Health(grpc::Server& server);

  // OK while the process answers CSI calls; otherwise a restart may help.
  [[nodiscard]] absl::Status CheckAlive() const;
  // OK when it can serve volumes; otherwise the reason.
  [[nodiscard]] absl::Status CheckReady() const;

 private:
  const std::unique_ptr<csi::v1::Identity::Stub> identity_;
};

// /healthz (alive) and /readyz (ready): 200, or 503 with the reason. `health` outlives them.
[[nodiscard]] HttpRoutes HealthRoutes(const Health& health);

// The configured endpoints of both. Serves until it is destroyed.
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
