// SPDX-License-Identifier: Apache-2.0
// The sockets that this process listens on: Unix sockets for kubelet, sidecars and people, and TCP.
#pragma once

#include <string>
#include <utility>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::server {

// Makes the socket's directory if need be. FAILED_PRECONDITION when a server answers on the socket,
// or its name is that of something else; a stale socket is replaced.
[[nodiscard]] absl::Status PrepareSocket(const std::string& path);

// Listens at `path`, which PrepareSocket has found free, in the place of a stale socket. For its
// owner only, if the umask says so.
[[nodiscard]] absl::StatusOr<os::UniqueFd> ListenOnSocket(const std::string& path);

// Removes the socket at `path` unless a server listens there; anything else stays.
void RemoveDeadSocket(const std::string& path);

// Removes a socket's name when it is destroyed, so that callers see at once that no server is
// there.
class SocketName final {
 public:
  explicit SocketName(std::string path) : path_(std::move(path)) {}
  SocketName(const SocketName&) = delete;
  SocketName& operator=(const SocketName&) = delete;
  ~SocketName();

 private:
  const std::string path_;
};

// Listens on TCP. `address` is HOST:PORT, HOST empty for all addresses. FAILED_PRECONDITION when it
// cannot be had.
[[nodiscard]] absl::StatusOr<os::UniqueFd> ListenOnTcp(const std::string& address);

}  // namespace holdfast::server
