// SPDX-License-Identifier: Apache-2.0
#include "server/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/host_port.h"
#include "os/unique_fd.h"

namespace holdfast::server {
namespace {

constexpr int kBacklog = 128;

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return InvalidArgument("'{}' is too long", path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

absl::StatusOr<os::UniqueFd> MakeSocket() {
  os::UniqueFd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return OsError(errno, "make a socket");
  return made;
}

absl::StatusOr<bool> IsListening(const std::string& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  ASSIGN_OR_RETURN(const os::UniqueFd client, MakeSocket());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  // EAGAIN: its queue is full, so a process listens.
  return ::connect(client.get(), generic, sizeof(address)) == 0 || errno == EAGAIN;
}

void RemoveSocket(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode)) ::unlink(path.c_str());
}

constexpr int kTcpBacklog = 4096;

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
  if (::listen(socket.get(), kTcpBacklog) != 0) return OsError(errno, "listen");
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

absl::Status PrepareSocket(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return OsError(error.value(), fmt::format("make the directory of socket '{}'", path));
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return absl::OkStatus();
  if (!S_ISSOCK(facts.st_mode)) {
    return FailedPrecondition("'{}' exists and is not a socket", path);
  }
  ASSIGN_OR_RETURN(const bool answers, IsListening(path));
  if (!answers) return absl::OkStatus();
  return FailedPrecondition("another process serves '{}'; stop it first, or use another endpoint",
                            path);
}

absl::StatusOr<os::UniqueFd> ListenOnSocket(const std::string& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  ASSIGN_OR_RETURN(os::UniqueFd socket, MakeSocket());
  RemoveSocket(path);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket.get(), generic, sizeof(address)) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return OsError(errno, fmt::format("cannot listen on '{}'", path));
  }
  return socket;
}

void RemoveDeadSocket(const std::string& path) {
  const auto answers = IsListening(path);
  if (answers.ok() && !*answers) RemoveSocket(path);
}

SocketName::~SocketName() { RemoveSocket(path_); }

absl::StatusOr<os::UniqueFd> ListenOnTcp(const std::string& address) {
  ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  auto socket = ListenOn(where);
  if (socket.ok()) return socket;
  return FailedPrecondition("cannot listen on '{}': {}", address, MessageOf(socket.status()));
}

}  // namespace holdfast::server
