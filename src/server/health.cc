// SPDX-License-Identifier: Apache-2.0
#include "server/health.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "core/version.h"

namespace holdfast::server {
namespace {

constexpr std::chrono::milliseconds kProbeTime{800};  // the kubelet waits 1 s by default
constexpr int kServiceUnavailable = 503;

grpc::Status Probe(csi::v1::Identity::Stub& identity, csi::v1::ProbeResponse& response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kProbeTime);
  return identity.Probe(&context, {}, &response);
}

HttpAnswer AnswerOf(const absl::Status& status) {
  if (status.ok()) return {200, "ok\n"};
  return {kServiceUnavailable, MessageOf(status) + "\n"};
}

}  // namespace

Health::Health(grpc::Server& server)
    : identity_(csi::v1::Identity::NewStub(server.InProcessChannel({}))) {}

absl::Status Health::CheckAlive() const {
  csi::v1::ProbeResponse response;
  const grpc::Status status = Probe(*identity_, response);
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return Unavailable("calls are not answered: {}", status.error_message());
  }
  // A missing pool is not a reason to restart the process.
  return absl::OkStatus();
}

absl::Status Health::CheckReady() const {
  csi::v1::ProbeResponse response;
  const grpc::Status status = Probe(*identity_, response);
  if (!status.ok()) return Unavailable("{}", status.error_message());
  if (!response.ready().value()) return Unavailable("still recovering");
  return absl::OkStatus();
}

HttpRoutes HealthRoutes(const Health& health) {
  return {{"/healthz", [&health] { return AnswerOf(health.CheckAlive()); }},
          {"/readyz", [&health] { return AnswerOf(health.CheckReady()); }}};
}

namespace {

// What a person finds who opens the address in a browser.
void AddFirstPage(HttpRoutes& routes, const Config& config) {
  std::string links;
  for (const auto& [path, handler] : routes) {
    links += fmt::format("<li><a href=\"{0}\">{0}</a></li>\n", path);
  }
  // The name is checked: letters, digits, dots and hyphens.
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<title>Holdfast</title>\n<h1>Holdfast {}</h1>\n<p>{} of "
      "{}</p>\n<ul>\n{}</ul>\n",
      kVersion, config.role == Role::kController ? "Controller" : "Node", config.driver_name,
      links);
  routes.emplace("/", [page = std::move(page)] {
    return HttpAnswer{200, page, "text/html; charset=utf-8"};
  });
}

}  // namespace

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
    AddFirstPage(handlers, config);
    ASSIGN_OR_RETURN(auto endpoint, HttpEndpoint::Start(address, std::move(handlers)));
    started.http_.push_back(std::move(endpoint));
  }
  return started;
}

}  // namespace holdfast::server
