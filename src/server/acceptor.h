// SPDX-License-Identifier: Apache-2.0
// Accepts connections while enough file descriptors remain for everything else, for gRPC, whose own
// listener stops accepting permanently after one EMFILE.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::server {

// What connections of this host leave of the limit: for the files and children of their calls.
inline constexpr int kLocalReserve = 32;

// Accepts connections until it is destroyed.
class Acceptor final {
 public:
  // Called on the acceptor's thread with the descriptor of a connection, which is then the
  // callee's; it does not block.
  using Take = std::function<void(int connection)>;

  // `socket` listens and does not block; `file_limit` is that of the process, of which `reserve`
  // descriptors are left to everything else.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Acceptor>> Start(os::UniqueFd socket,
                                                                       int file_limit, int reserve,
                                                                       Take take);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor();

 private:
  Acceptor(os::UniqueFd socket, os::UniqueFd ending, int file_limit, int reserve, Take take);
  void Run();
  void Accept();
  void CountRefusal();

  const os::UniqueFd socket_;
  const os::UniqueFd ending_;  // an eventfd
  const int file_limit_;
  const int highest_;  // descriptor that a connection may have
  const Take take_;
  int refused_ = 0;  // since the last line of the log, on the acceptor's thread only
  std::chrono::steady_clock::time_point told_{};
  std::thread thread_;
};

// Gives a gRPC server the connections that an Acceptor took. To be called before `builder` builds
// its server; the result may be used as long as that server lives.
[[nodiscard]] Acceptor::Take GiveConnectionsTo(
    grpc::ServerBuilder& builder, std::shared_ptr<grpc::ServerCredentials> credentials);

}  // namespace holdfast::server
