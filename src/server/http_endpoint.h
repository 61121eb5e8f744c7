// SPDX-License-Identifier: Apache-2.0
// Plain HTTP for monitoring: the kubelet's probes, Prometheus.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/status.h"

namespace holdfast::server {

// Prometheus' text format. Other readers ignore the version.
inline constexpr char kPlainText[] = "text/plain; version=0.0.4; charset=utf-8";

struct HttpAnswer {
  int status = 200;
  std::string text = {};
  const char* content_type = kPlainText;  // lives permanently
};

// GET handlers by path. Each is called by one thread at a time, which lives no longer, and may take
// its time: the others are not kept waiting. One call answers all requests that came before it
// began.
using HttpRoutes = std::map<std::string, std::function<HttpAnswer()>>;

// Serves until it is destroyed; then waits for running handlers.
//
// Any program that reaches the port can send anything, so all is bounded: headers (4 KiB; bodies
// are not read), time (2 s until the request is there, 2 s for the answer to be taken, however the
// bytes come), requests (one for each connection), and connections. When there are too many of
// these the oldest ends, so that a peer which sends its request at once is answered.
class HttpEndpoint final {
 public:
  // `address` is HOST:PORT, HOST empty for all addresses. FAILED_PRECONDITION when it cannot be
  // had, UNAVAILABLE when no thread can be started.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Start(
      const std::string& address, HttpRoutes routes);
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;
  ~HttpEndpoint();

 private:
  class Loop;
  explicit HttpEndpoint(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace holdfast::server
