// SPDX-License-Identifier: Apache-2.0
#include "server/monitoring_endpoints.h"

#include <map>
#include <utility>

namespace holdfast::server {

absl::StatusOr<MonitoringEndpoints> MonitoringEndpoints::Start(const Config& config,
                                                               grpc::Server& server,
                                                               const Metrics& metrics) {
  MonitoringEndpoints started;
  started.health_ = std::make_unique<Health>(server);
  // Health and metrics may share an address.
  std::map<std::string, HttpRoutes> routes;
  if (!config.health_address.empty())
    routes[config.health_address] = HealthRoutes(*started.health_);
  if (!config.metrics_address.empty()) {
    routes[config.metrics_address].emplace("/metrics", [&metrics] {
      return HttpAnswer{200, metrics.Text()};
    });
  }
  for (auto& [address, handlers] : routes) {
    ASSIGN_OR_RETURN(auto endpoint, HttpEndpoint::Start(address, std::move(handlers)));
    started.http_.push_back(std::move(endpoint));
  }
  return started;
}

}  // namespace holdfast::server
