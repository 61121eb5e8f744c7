// SPDX-License-Identifier: Apache-2.0
// What the kernel knows about a TCP connection.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "os/unique_fd.h"

namespace holdfast::os {

struct Peer {
  std::string address;  // as inet_ntop writes it; one of IPv4 as such, also on a socket of IPv6
  std::uint16_t port = 0;
};

// Who is at the other end; nothing if the connection is broken, or not of TCP.
[[nodiscard]] std::optional<Peer> PeerOf(int connection);

// Bytes that have come since the connection began, read or not; nothing if the kernel does not say.
[[nodiscard]] std::optional<std::uint64_t> BytesReceived(int connection);

// The socket's number, by which it is known whether a descriptor still stands for it; 0 if the
// descriptor is closed.
[[nodiscard]] ino_t InodeOf(int connection);

// Another descriptor of the same connection; an invalid one if there is none left.
[[nodiscard]] UniqueFd DuplicateOf(int connection);

}  // namespace holdfast::os
