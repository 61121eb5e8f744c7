// SPDX-License-Identifier: Apache-2.0
#include "server/http_endpoint.h"

#include <httplib.h>

#include "core/host_port.h"

namespace holdfast::server {
namespace {

// A peer that sends nothing holds a thread no longer than this.
constexpr std::chrono::seconds kPatience{2};
constexpr std::size_t kThreads = 2;
constexpr std::size_t kMaxRequestBytes = 4096;

}  // namespace

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(const std::string& address,
                                                                  const HttpRoutes& routes) {
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  auto server = std::make_unique<httplib::Server>();
  server->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // Not the library's SO_REUSEPORT, with which two processes share a port unnoticed.
  server->set_socket_options([](int socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  server->set_read_timeout(kPatience);
  server->set_write_timeout(kPatience);
  server->set_keep_alive_max_count(1);
  server->set_payload_max_length(kMaxRequestBytes);
  for (const auto& [path, handler] : routes) {
    server->Get(path, [handler](const httplib::Request&, httplib::Response& response) {
      const HttpAnswer answer = handler();
      response.status = answer.status;
      response.set_content(answer.text, "text/plain; version=0.0.4; charset=utf-8");
    });
  }
  for (const std::string& host : where.ListenHosts()) {
    if (server->bind_to_port(host, where.port)) {
      return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(server)));
    }
  }
  return FailedPrecondition("cannot listen on '{}': is it taken, and an address of this host?",
                            address);
}

HttpEndpoint::HttpEndpoint(std::unique_ptr<httplib::Server> server)
    : server_(std::move(server)), thread_([this] { server_->listen_after_bind(); }) {}

HttpEndpoint::~HttpEndpoint() {
  // Before it runs a stop would be lost.
  while (!server_->is_running()) std::this_thread::yield();
  server_->stop();
  thread_.join();
}

}  // namespace holdfast::server
