// SPDX-License-Identifier: Apache-2.0
// The kernel's information about a TCP connection.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "os/unique_fd.h"

namespace holdfast::os {

struct Peer {
  std::string address;  // as inet_ntop writes it; an IPv4 address as such, even on an IPv6 socket
  std::uint16_t port = 0;
};

// The peer; nothing if the connection is broken or is not TCP.
[[nodiscard]] std::optional<Peer> PeerOf(int connection);

// Bytes received since the connection began, read or not; nothing if the kernel does not report it.
[[nodiscard]] std::optional<std::uint64_t> BytesReceived(int connection);

// The socket's inode number, which shows whether a descriptor still refers to the same socket; 0 if
// the descriptor is closed.
[[nodiscard]] ino_t InodeOf(int connection);

// Another descriptor of the same connection; an invalid one if the process has none left.
[[nodiscard]] UniqueFd DuplicateOf(int connection);

}  // namespace holdfast::os
