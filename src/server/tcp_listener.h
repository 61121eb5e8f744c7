// SPDX-License-Identifier: Apache-2.0
// Takes TCP connections as long as file descriptors are left for everything else. gRPC's own
// listener, when it meets the limit once, is deaf for ever.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::server {

// Listens until it goes.
class TcpListener final {
 public:
  // Called on the listener's thread with the descriptor of a connection, which is then the
  // callee's; it does not block.
  using Take = std::function<void(int connection)>;

  // `address` is HOST:PORT, HOST empty for all addresses; `file_limit` that of the process.
  // FAILED_PRECONDITION when the address cannot be had.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TcpListener>> Start(
      const std::string& address, int file_limit, Take take);
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;
  ~TcpListener();

 private:
  TcpListener(os::UniqueFd socket, os::UniqueFd ending, int file_limit, Take take);
  void Run();
  void Accept();
  void CountRefusal();

  const os::UniqueFd socket_;
  const os::UniqueFd ending_;  // an eventfd
  const int file_limit_;
  const int highest_;  // descriptor that a connection may have
  const Take take_;
  int refused_ = 0;  // since the last line of the log, on the listener's thread only
  std::chrono::steady_clock::time_point told_{};
  std::thread thread_;
};

}  // namespace holdfast::server
