// SPDX-License-Identifier: Apache-2.0
// Health for those who cannot call the CSI socket: over HTTP, and as grpc.health.v1.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "core/status.h"
#include "proto/csi.grpc.pb.h"
#include "proto/health.grpc.pb.h"
#include "server/http_endpoint.h"

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

// grpc.health.v1 without TLS on an address of its own, SERVING when ready. Serves until it goes.
class GrpcHealth final {
 public:
  // `address` is HOST:PORT; FAILED_PRECONDITION when it cannot be had. `health` outlives it.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GrpcHealth>> Start(const std::string& address,
                                                                         const Health& health);
  ~GrpcHealth();

 private:
  class Service final : public grpc::health::v1::Health::Service {
   public:
    explicit Service(const holdfast::server::Health& health) : health_(health) {}
    grpc::Status Check(grpc::ServerContext* context,
                       const grpc::health::v1::HealthCheckRequest* request,
                       grpc::health::v1::HealthCheckResponse* response) override;

   private:
    const holdfast::server::Health& health_;
  };

  explicit GrpcHealth(const Health& health) : service_(health) {}

  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::server
