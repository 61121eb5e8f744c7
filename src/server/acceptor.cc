// SPDX-License-Identifier: Apache-2.0
#include "server/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "core/log.h"
#include "core/start_thread.h"

namespace holdfast::server {
namespace {

constexpr int kPauseMs = 100;
constexpr std::chrono::minutes kLogInterval{1};

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Start(os::UniqueFd socket, int file_limit,
                                                          int reserve, Take take) {
  os::UniqueFd ending(::eventfd(0, EFD_CLOEXEC));
  if (!ending.valid()) return OsError(errno, "make an eventfd");
  std::unique_ptr<Acceptor> acceptor(
      new Acceptor(std::move(socket), std::move(ending), file_limit, reserve, std::move(take)));
  Acceptor* const self = acceptor.get();
  ASSIGN_OR_RETURN(self->thread_, StartThread([self] { self->Run(); }));
  return acceptor;
}

Acceptor::Acceptor(os::UniqueFd socket, os::UniqueFd ending, int file_limit, int reserve, Take take)
    : socket_(std::move(socket)),
      ending_(std::move(ending)),
      file_limit_(file_limit),
      highest_(file_limit - std::min(reserve, file_limit / 4)),
      take_(std::move(take)) {}

Acceptor::~Acceptor() {
  ::eventfd_write(ending_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void Acceptor::Run() {
  pollfd watched[] = {{ending_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
  while (true) {
    if (::poll(watched, std::size(watched), -1) < 0) continue;
    if (watched[0].revents != 0) return;
    Accept();
  }
}

void Acceptor::Accept() {
  const int connection = ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    // The connection stays in the queue, and poll would return at once.
    pollfd ending{ending_.get(), POLLIN, 0};
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      ::poll(&ending, 1, kPauseMs);
    }
    return;
  }
  // The kernel returns the lowest free descriptor, so a high one means that few are left.
  if (connection > highest_) {
    ::close(connection);
    return CountRefusal();
  }
  const int yes = 1;  // of no effect on a Unix socket
  ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  take_(connection);
}

void Acceptor::CountRefusal() {
  ++refused_;
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < kLogInterval) return;
  LogWarning(
      "{} connections refused: the process may have {} files open, and each connection is one; "
      "raise the limit (LimitNOFILE, the container runtime's default)",
      refused_, file_limit_);
  refused_ = 0;
  told_ = now;
}

Acceptor::Take GiveConnectionsTo(grpc::ServerBuilder& builder,
                                 std::shared_ptr<grpc::ServerCredentials> credentials) {
  using Connections = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  const std::shared_ptr acceptor = builder.experimental().AddExternalConnectionAcceptor(
      Connections::FROM_FD, std::move(credentials));
  return [acceptor](int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
    taken.fd = connection;
    acceptor->HandleNewConnection(&taken);
  };
}

}  // namespace holdfast::server
