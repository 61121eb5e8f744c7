// SPDX-License-Identifier: Apache-2.0
#include "server/http_endpoint.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/log.h"
#include "core/mutex.h"
#include "server/http_connection.h"
#include "server/socket.h"

namespace holdfast::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Error = boost::system::error_code;

constexpr std::size_t kMaxConnections = 512;
constexpr std::size_t kShareOfFiles = 8;  // one in so many of the descriptors that there may be
constexpr std::chrono::milliseconds kPause{100};

std::size_t MaxConnections() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return kMaxConnections;
  return std::clamp<std::size_t>(files.rlim_cur / kShareOfFiles, 1, kMaxConnections);
}

tcp ProtocolOf(const os::UniqueFd& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
}

HttpAnswer Call(const std::function<HttpAnswer()>& handler) {
  try {
    return handler();
  } catch (const std::exception& error) {
    return {500, std::string("unexpected failure: ") + error.what() + "\n"};
  }
}

}  // namespace

// Everything but the handlers runs on its one thread.
class HttpEndpoint::Loop final {
 public:
  Loop(const os::UniqueFd& socket, HttpRoutes routes);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

 private:
  using Connections = std::vector<std::shared_ptr<HttpConnection>>;
  struct Route {
    std::function<HttpAnswer()> handler;
    Connections asking = {};   // answered by the call that is under way
    Connections waiting = {};  // by the next one
  };

  void Run();
  void Accept();
  void Welcome(tcp::socket socket);
  void Take(const std::shared_ptr<HttpConnection>& connection, const std::string& path);
  void Begin(Route& route);
  void Handle(Route& route);
  void Deliver(Route& route, const std::shared_ptr<const HttpAnswer>& answer);

  const std::size_t max_connections_ = MaxConnections();
  HttpConnection::List connections_;  // before what holds connections, which leave it at their end
  std::map<std::string, Route> routes_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  Mutex mutex_;
  CondVar done_;
  int handling_ ABSL_GUARDED_BY(mutex_) = 0;  // threads of handlers
  std::thread thread_;
};

HttpEndpoint::Loop::Loop(const os::UniqueFd& socket, HttpRoutes routes) {
  for (auto& [path, handler] : routes) routes_.emplace(path, Route{std::move(handler)});
  // The acceptor closes its own; a negative one is refused by an exception.
  acceptor_.assign(ProtocolOf(socket), ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  Accept();
  thread_ = std::thread([this] { Run(); });
}

HttpEndpoint::Loop::~Loop() {
  io_.stop();
  thread_.join();
  MutexLock lock(mutex_);
  done_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return handling_ == 0; });
  routes_.clear();  // their connections need io_
}

void HttpEndpoint::Loop::Run() {
  while (!io_.stopped()) {
    try {
      io_.run();
    } catch (const std::exception& error) {  // memory, mostly
      LogError("HTTP: unexpected failure: {}", error.what());
    }
  }
}

void HttpEndpoint::Loop::Accept() {
  acceptor_.async_accept([this](Error error, tcp::socket socket) {
    if (!error) {
      Welcome(std::move(socket));
      return Accept();
    }
    // No descriptor is left: the connection stays in the queue, and would be met at once again.
    pause_.expires_after(kPause);
    pause_.async_wait([this](Error) { Accept(); });
  });
}

void HttpEndpoint::Loop::Welcome(tcp::socket socket) {
  if (connections_.size() >= max_connections_) connections_.front()->Close();
  const auto welcomed = std::make_shared<HttpConnection>(std::move(socket), connections_);
  welcomed->Start([this](const std::shared_ptr<HttpConnection>& connection,
                         const std::string& path) { Take(connection, path); });
}

void HttpEndpoint::Loop::Take(const std::shared_ptr<HttpConnection>& connection,
                              const std::string& path) {
  const auto route = routes_.find(path);
  if (route == routes_.end()) {
    return connection->Answer(
        std::make_shared<HttpAnswer>(HttpAnswer{404, "there is nothing here\n"}));
  }
  route->second.waiting.push_back(connection);
  if (route->second.asking.empty()) Begin(route->second);
}

void HttpEndpoint::Loop::Begin(Route& route) {
  route.asking = std::exchange(route.waiting, {});
  {
    const MutexLock lock(mutex_);
    ++handling_;
  }
  try {
    std::thread([this, &route] { Handle(route); }).detach();
  } catch (const std::system_error&) {
    Handle(route);  // no thread can be started: better late than never
  }
}

void HttpEndpoint::Loop::Handle(Route& route) {
  const auto answer = std::make_shared<const HttpAnswer>(Call(route.handler));
  asio::post(io_, [this, &route, answer] { Deliver(route, answer); });
  const MutexLock lock(mutex_);
  --handling_;
  done_.NotifyAll();
}

void HttpEndpoint::Loop::Deliver(Route& route, const std::shared_ptr<const HttpAnswer>& answer) {
  for (const auto& connection : std::exchange(route.asking, {})) connection->Answer(answer);
  if (!route.waiting.empty()) Begin(route);
}

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(const std::string& address,
                                                                  HttpRoutes routes) {
  ASSIGN_OR_RETURN(const os::UniqueFd socket, ListenOnTcp(address));
  try {
    return std::unique_ptr<HttpEndpoint>(
        new HttpEndpoint(std::make_unique<Loop>(socket, std::move(routes))));
  } catch (const std::exception& error) {
    return Unavailable("cannot serve HTTP on '{}': {}", address, error.what());
  }
}

HttpEndpoint::HttpEndpoint(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpEndpoint::~HttpEndpoint() = default;

}  // namespace holdfast::server
