// SPDX-License-Identifier: Apache-2.0
#include "server/link_server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/start_thread.h"
#include "link/limits.h"
#include "os/process_limits.h"
#include "server/acceptor.h"
#include "server/socket.h"

namespace holdfast::server {
namespace {

constexpr std::chrono::seconds kHousekeeping{1};
constexpr std::chrono::milliseconds kLinkGrace{500};
// Who connects and opens no stream holds a descriptor no longer than this.
constexpr int kIdleConnectionMs = 10'000;
constexpr int kReserve = 256;  // descriptors for sockets of sidecars, files, children
constexpr int kKeepaliveMs = 10'000;
constexpr int kKeepaliveTimeoutMs = 5'000;
constexpr int kLeastPingMs = 5'000;
// A connection that is not proved takes 70 KiB in the handshake, up to 130 KiB with a half message.
constexpr std::uint64_t kUnprovedBytes = 128 << 10;
constexpr std::size_t kLeastUnproved = 64;
constexpr std::size_t kMostUnproved = 1024;
// So that no read finds much more than a connection may send before it is looked at.
constexpr int kReceiveBuffer = 64 << 10;

// A quarter of the memory is for peers that are not proved; each holds two descriptors.
LinkConnections::Bounds BoundsOf(int file_limit) {
  const std::uint64_t memory = os::MemoryLimit();
  const auto unproved =
      std::clamp<std::uint64_t>(memory / 4 / kUnprovedBytes, kLeastUnproved, kMostUnproved);
  return {.max_unproved = std::min(unproved, static_cast<std::uint64_t>(file_limit) / 8),
          .most_memory = memory / 10 * 7};
}

void SetBounds(grpc::ServerBuilder& builder) {
  // What the sizes and counts below leave open, such as many proved nodes that send half messages:
  // gRPC then ends streams, where the kernel would end the process. Never SetMaxThreads.
  grpc::ResourceQuota quota("link");
  quota.Resize(os::MemoryLimit() / 4 * 3);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(link::kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, link::kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kIdleConnectionMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleConnectionMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Otherwise a fast peer could send megabytes before a thread reads.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LinkServer>> LinkServer::Start(const std::string& address,
                                                              const link::TlsDirectory& tls,
                                                              int file_limit, link::Hub& hub,
                                                              link::TransferRelay& transfers) {
  std::unique_ptr<LinkServer> server(new LinkServer(hub, transfers, BoundsOf(file_limit)));
  RETURN_IF_ERROR(server->Listen(address, tls, file_limit));
  return server;
}

LinkServer::LinkServer(link::Hub& hub, link::TransferRelay& transfers,
                       const LinkConnections::Bounds& bounds)
    : hub_(hub),
      transfers_(transfers),
      connections_(bounds, [&hub] { hub.CountRefusal(absl::StatusCode::kResourceExhausted); }) {}

absl::Status LinkServer::Listen(const std::string& address, const link::TlsDirectory& tls,
                                int file_limit) {
  grpc::ServerBuilder builder;
  const Acceptor::Take give = GiveConnectionsTo(builder, link::ServerTls(tls));
  SetBounds(builder);
  hub_.SetPeerWatch(connections_);
  transfers_.SetPeerWatch(connections_);
  builder.RegisterService(&hub_.service());
  builder.RegisterService(&transfers_.service());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return Internal("cannot start the link's server");
  ASSIGN_OR_RETURN(housekeeper_, StartThread([this] { RunMaintenance(); }));
  ASSIGN_OR_RETURN(os::UniqueFd socket, ListenOnTcp(address));
  ASSIGN_OR_RETURN(acceptor_,
                   Acceptor::Start(std::move(socket), file_limit, kReserve,
                                   [this, give](int connection) { Take(connection, give); }));
  return absl::OkStatus();
}

void LinkServer::Take(int connection, const Acceptor::Take& give) {
  if (!connections_.Admit(connection)) {
    ::close(connection);
    return;
  }
  ::setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof(kReceiveBuffer));
  give(connection);
  const MutexLock lock(mutex_);
  if (!std::exchange(came_, true)) changed_.NotifyAll();
}

LinkServer::~LinkServer() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  if (housekeeper_.joinable()) housekeeper_.join();
  acceptor_.reset();
  hub_.Stop();
  transfers_.Stop();
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + kLinkGrace);
  server_->Wait();
}

void LinkServer::RunMaintenance() {
  MutexLock lock(mutex_);
  bool any_unproved = false;
  auto next_round = std::chrono::steady_clock::now() + kHousekeeping;
  while (!ending_) {
    if (any_unproved) {
      changed_.WaitFor(lock, LinkConnections::kLook,
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_; });
    } else {
      changed_.WaitUntil(lock, next_round, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return ending_ || came_;
      });
    }
    came_ = false;
    lock.Unlock();
    any_unproved = connections_.Inspect();
    if (std::chrono::steady_clock::now() >= next_round) {
      hub_.EndOverdue();
      transfers_.EndOverdue();
      next_round = std::chrono::steady_clock::now() + kHousekeeping;
    }
    lock.Lock();
  }
}

}  // namespace holdfast::server
