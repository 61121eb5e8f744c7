// SPDX-License-Identifier: Apache-2.0
// The controller's end of the link as a server of its own, on TCP with TLS.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <thread>

#include "core/mutex.h"
#include "link/credentials.h"
#include "link/hub.h"
#include "link/transfer_relay.h"
#include "server/acceptor.h"
#include "server/link_connections.h"

namespace holdfast::server {

// Serves until it is destroyed; then ends every stream.
class LinkServer final {
 public:
  // `address` is HOST:PORT. FAILED_PRECONDITION when it cannot be had. The certificates have been
  // checked (CheckTls). `file_limit` is that of the process. Hub and relay outlive the server.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LinkServer>> Start(
      const std::string& address, const link::TlsDirectory& tls, int file_limit, link::Hub& hub,
      link::TransferRelay& transfers);
  LinkServer(const LinkServer&) = delete;
  LinkServer& operator=(const LinkServer&) = delete;
  ~LinkServer();

 private:
  LinkServer(link::Hub& hub, link::TransferRelay& transfers, const LinkConnections::Bounds& bounds);
  absl::Status Listen(const std::string& address, const link::TlsDirectory& tls, int file_limit);
  void Take(int connection, const Acceptor::Take& give);
  void RunMaintenance();

  link::Hub& hub_;
  link::TransferRelay& transfers_;
  LinkConnections connections_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool came_ ABSL_GUARDED_BY(mutex_) = false;  // a connection, since the last look
  std::thread housekeeper_;
};

}  // namespace holdfast::server
