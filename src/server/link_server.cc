// SPDX-License-Identifier: Apache-2.0
#include "server/link_server.h"

#include <grpcpp/server_builder.h>

#include <chrono>

#include "server/grpc_connections.h"
#include "server/tcp_listener.h"

namespace holdfast::server {
namespace {

constexpr std::chrono::seconds kHousekeeping{1};
constexpr std::chrono::milliseconds kGoodbyeTime{500};
// A node with thousands of volumes names them all when it registers.
constexpr int kMaxMessageBytes = 4 << 20;
constexpr int kMaxStreamsPerConnection = 4;
// Who connects and opens no stream holds a descriptor no longer than this.
constexpr int kStreamlessMs = 10'000;
constexpr int kReserve = 256;  // descriptors for sockets of sidecars, files, children
constexpr int kKeepaliveMs = 10'000;
constexpr int kKeepaliveTimeoutMs = 5'000;
constexpr int kLeastPingMs = 5'000;

}  // namespace

absl::StatusOr<std::unique_ptr<LinkServer>> LinkServer::Start(const std::string& address,
                                                              const link::TlsDirectory& tls,
                                                              int file_limit, link::Hub& hub) {
  grpc::ServerBuilder builder;
  const Acceptor::Take give = GiveConnectionsTo(builder, link::ServerTls(tls));
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kStreamlessMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kStreamlessMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.RegisterService(&hub.service());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return Internal("cannot start the link's server");
  ASSIGN_OR_RETURN(os::UniqueFd socket, ListenOnTcp(address));
  ASSIGN_OR_RETURN(auto acceptor, Acceptor::Start(std::move(socket), file_limit, kReserve,
                                                  [give, &hub](int connection) {
                                                    hub.ExpectNode();
                                                    give(connection);
                                                  }));
  return std::unique_ptr<LinkServer>(new LinkServer(hub, std::move(server), std::move(acceptor)));
}

LinkServer::LinkServer(link::Hub& hub, std::unique_ptr<grpc::Server> server,
                       std::unique_ptr<Acceptor> acceptor)
    : hub_(hub),
      server_(std::move(server)),
      acceptor_(std::move(acceptor)),
      housekeeper_([this] { KeepHouse(); }) {}

LinkServer::~LinkServer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  housekeeper_.join();
  acceptor_.reset();
  hub_.Stop();
  server_->Shutdown(std::chrono::system_clock::now() + kGoodbyeTime);
  server_->Wait();
}

void LinkServer::KeepHouse() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kHousekeeping, [this] { return ending_; })) {
    lock.unlock();
    hub_.EndSilent();
    lock.lock();
  }
}

}  // namespace holdfast::server
