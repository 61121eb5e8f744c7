// SPDX-License-Identifier: Apache-2.0
#include "server/tcp_listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "core/host_port.h"
#include "core/log.h"

namespace holdfast::server {
namespace {

constexpr int kReserve = 256;  // descriptors for sockets of sidecars, files, children
constexpr int kBacklog = 4096;
constexpr int kPauseMs = 100;
constexpr std::chrono::minutes kBetweenLines{1};

absl::StatusOr<os::UniqueFd> Listen(const addrinfo& where) {
  os::UniqueFd socket(::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return OsError(errno, "make a socket");
  const int yes = 1;
  const int no = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (where.ai_family == AF_INET6) {  // "::" is every address, also those of IPv4
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  }
  if (::bind(socket.get(), where.ai_addr, where.ai_addrlen) != 0) return OsError(errno, "bind");
  if (::listen(socket.get(), kBacklog) != 0) return OsError(errno, "listen");
  return socket;
}

absl::StatusOr<os::UniqueFd> ListenOn(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) return FailedPrecondition("find '{}': {}", host, ::gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  return Listen(*found);
}

absl::StatusOr<os::UniqueFd> ListenOn(const HostPort& where) {
  absl::StatusOr<os::UniqueFd> socket = InvalidArgument("no address");
  for (const std::string& host : where.ListenHosts()) {
    socket = ListenOn(host, where.port);
    if (socket.ok()) break;
  }
  return socket;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TcpListener>> TcpListener::Start(const std::string& address,
                                                                int file_limit, Take take) {
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  auto socket = ListenOn(where);
  if (!socket.ok()) {
    return FailedPrecondition("cannot listen on '{}': {}", address, MessageOf(socket.status()));
  }
  os::UniqueFd ending(::eventfd(0, EFD_CLOEXEC));
  if (!ending.valid()) return OsError(errno, "make an eventfd");
  return std::unique_ptr<TcpListener>(
      new TcpListener(*std::move(socket), std::move(ending), file_limit, std::move(take)));
}

TcpListener::TcpListener(os::UniqueFd socket, os::UniqueFd ending, int file_limit, Take take)
    : socket_(std::move(socket)),
      ending_(std::move(ending)),
      file_limit_(file_limit),
      highest_(file_limit - std::min(kReserve, file_limit / 4)),
      take_(std::move(take)),
      thread_([this] { Run(); }) {}

TcpListener::~TcpListener() {
  ::eventfd_write(ending_.get(), 1);
  thread_.join();
}

void TcpListener::Run() {
  pollfd watched[] = {{ending_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
  while (true) {
    if (::poll(watched, std::size(watched), -1) < 0) continue;
    if (watched[0].revents != 0) return;
    Accept();
  }
}

void TcpListener::Accept() {
  const int connection = ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    // The connection stays in the queue, and poll would return at once.
    pollfd ending{ending_.get(), POLLIN, 0};
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      ::poll(&ending, 1, kPauseMs);
    }
    return;
  }
  // The kernel gives the lowest descriptor that is free: a high one tells that few are left.
  if (connection > highest_) {
    ::close(connection);
    return CountRefusal();
  }
  const int yes = 1;
  ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  take_(connection);
}

void TcpListener::CountRefusal() {
  ++refused_;
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < kBetweenLines) return;
  LogWarning(
      "{} connections refused: the process may have {} files open, and each node is one; raise "
      "the limit (LimitNOFILE, the container runtime's default)",
      refused_, file_limit_);
  refused_ = 0;
  told_ = now;
}

}  // namespace holdfast::server
