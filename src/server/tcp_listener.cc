// SPDX-License-Identifier: Apache-2.0
#include "server/tcp_listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "core/host_port.h"

namespace holdfast::server {
namespace {

constexpr int kBacklog = 4096;

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

absl::StatusOr<os::UniqueFd> ListenOnTcp(const std::string& address) {
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  auto socket = ListenOn(where);
  if (socket.ok()) return socket;
  return FailedPrecondition("cannot listen on '{}': {}", address, MessageOf(socket.status()));
}

}  // namespace holdfast::server
