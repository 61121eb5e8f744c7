// SPDX-License-Identifier: Apache-2.0
#include "os/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstring>

namespace holdfast::os {
namespace {

std::optional<Peer> PeerOf(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
  return Peer{text, ntohs(address.sin_port)};
}

std::optional<Peer> PeerOf(const sockaddr_in6& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
    sockaddr_in mapped{};
    mapped.sin_port = address.sin6_port;
    std::memcpy(&mapped.sin_addr, &address.sin6_addr.s6_addr[12], sizeof(mapped.sin_addr));
    return PeerOf(mapped);
  }
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof(text));
  return Peer{text, ntohs(address.sin6_port)};
}

}  // namespace

std::optional<Peer> PeerOf(int connection) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getpeername(connection, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  if (storage.ss_family == AF_INET) return PeerOf(reinterpret_cast<const sockaddr_in&>(storage));
  if (storage.ss_family == AF_INET6) return PeerOf(reinterpret_cast<const sockaddr_in6&>(storage));
  return std::nullopt;
}

std::optional<std::uint64_t> BytesReceived(int connection) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  constexpr std::size_t kNeeded =
      offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received);
  if (::getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < kNeeded) {
    return std::nullopt;
  }
  return info.tcpi_bytes_received;
}

ino_t InodeOf(int connection) {
  struct stat status {};
  return ::fstat(connection, &status) == 0 ? status.st_ino : 0;
}

UniqueFd DuplicateOf(int connection) { return UniqueFd(::fcntl(connection, F_DUPFD_CLOEXEC, 0)); }

}  // namespace holdfast::os
