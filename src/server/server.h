// SPDX-License-Identifier: Apache-2.0
// `holdfast serve`: everything put together.
#pragma once

#include <memory>
#include <string>

#include "core/config.h"
#include "server/state_directory.h"

namespace grpc {
class Server;
}
namespace holdfast::link {
class NodeLink;
}

namespace holdfast::server {

class Acceptor;
class EventSender;
class KubeletRegistration;
class LinkServer;
class Metrics;
class MonitoringEndpoints;
class SocketName;
class StopGuard;
struct LinkedController;
struct ServerState;
struct Services;

// The steps in their order, each once, from main before any other thread exists. After an error
// it can only be destroyed.
class Server final {
 public:
  // `config` outlives it.
  explicit Server(const Config& config);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // From here on Identity answers; the other services answer UNAVAILABLE. INVALID_ARGUMENT: the
  // configuration; FAILED_PRECONDITION: another instance, or a pool's directory; the process has
  // then changed nothing.
  [[nodiscard]] absl::Status Start();

  // Counts what the pools have; then all services answer. What is half done is ended afterwards.
  [[nodiscard]] absl::Status Recover();

  // Makes itself known to the controller and to kubelet, as configured, and serves until SIGTERM or
  // SIGINT.
  [[nodiscard]] absl::Status Run();

  // Lets running calls finish. 25 s after the signal the process ends, whatever hangs.
  void Stop();

 private:
  [[nodiscard]] absl::Status CheckConfig();
  [[nodiscard]] absl::Status TakePlace();
  [[nodiscard]] absl::Status ServeCalls();
  [[nodiscard]] absl::Status ServeNodes();
  [[nodiscard]] absl::Status StartEvents();
  [[nodiscard]] absl::Status RegisterWithKubelet();
  void LogReadiness() const;

  // In the order in which they are made: each uses only those above it.
  const Config& config_;
  std::string socket_path_;
  StateDirectory directory_;
  int file_limit_ = 0;
  std::unique_ptr<ServerState> state_;
  std::unique_ptr<StopGuard> guard_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<LinkedController> linked_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<grpc::Server> calls_;
  std::unique_ptr<SocketName> name_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<MonitoringEndpoints> monitoring_;
  std::unique_ptr<LinkServer> link_server_;
  std::unique_ptr<link::NodeLink> node_link_;
  std::unique_ptr<KubeletRegistration> registration_;
  std::unique_ptr<EventSender> events_;
};

}  // namespace holdfast::server
