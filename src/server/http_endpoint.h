// SPDX-License-Identifier: Apache-2.0
// Plain HTTP for those who look on from outside: kubelet's probes, Prometheus.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "core/status.h"

namespace httplib {
class Server;
}

namespace holdfast::server {

struct HttpAnswer {
  int status = 200;
  std::string text;
};

// GET handlers by path; called on the endpoint's threads, several at once.
using HttpRoutes = std::map<std::string, std::function<HttpAnswer()>>;

// Serves until it goes.
class HttpEndpoint final {
 public:
  // `address` is HOST:PORT, HOST empty for all addresses. FAILED_PRECONDITION when it cannot be
  // had.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Start(
      const std::string& address, const HttpRoutes& routes);
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;
  ~HttpEndpoint();

 private:
  explicit HttpEndpoint(std::unique_ptr<httplib::Server> server);

  std::unique_ptr<httplib::Server> server_;
  std::thread thread_;
};

}  // namespace holdfast::server
