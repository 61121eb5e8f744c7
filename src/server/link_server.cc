// SPDX-License-Identifier: Apache-2.0
#include "server/link_server.h"

#include <grpcpp/server_builder.h>

#include <chrono>

namespace holdfast::server {
namespace {

constexpr std::chrono::seconds kHousekeeping{1};
constexpr std::chrono::milliseconds kGoodbyeTime{500};
// A node with thousands of volumes names them all when it registers.
constexpr int kMaxMessageBytes = 4 << 20;
constexpr int kMaxStreamsPerConnection = 4;
// Who connects and says nothing holds a descriptor no longer than this.
constexpr int kHandshakeTimeMs = 10'000;
constexpr int kKeepaliveMs = 10'000;
constexpr int kKeepaliveTimeoutMs = 5'000;
constexpr int kLeastPingMs = 5'000;

}  // namespace

absl::StatusOr<std::unique_ptr<LinkServer>> LinkServer::Start(const std::string& address,
                                                              const link::TlsDirectory& tls,
                                                              link::Hub& hub) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, link::ServerTls(tls), &port);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.RegisterService(&hub.service());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return FailedPrecondition("cannot listen for nodes on '{}': is it taken?", address);
  }
  return std::unique_ptr<LinkServer>(new LinkServer(hub, std::move(server)));
}

LinkServer::LinkServer(link::Hub& hub, std::unique_ptr<grpc::Server> server)
    : hub_(hub), server_(std::move(server)), housekeeper_([this] { KeepHouse(); }) {}

LinkServer::~LinkServer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  housekeeper_.join();
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
