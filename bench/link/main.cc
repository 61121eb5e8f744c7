// SPDX-License-Identifier: Apache-2.0
// bench-raw-link: what gRPC over TLS can do between two nodes through a controller, with no bytes
// read, checked or written at the ends. Prints the seconds of a transfer. The relay is a process of
// its own; both ends are threads of this one.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <csignal>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "link/relay.h"

namespace bench {
namespace {

using holdfast::link::v1::Part;
using holdfast::link::v1::Transfer;

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr int kMostBytes = 4 << 20;  // of a message

struct Options {
  std::string controller_tls, node_tls;
  int mebibytes = 512;
};

std::unique_ptr<Transfer::Stub> Connect(int port, const Pem& pem) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return Transfer::NewStub(grpc::CreateCustomChannel(
      "localhost:" + std::to_string(port),
      grpc::SslCredentials({pem.authority, pem.key, pem.certificate}), arguments));
}

void Send(Transfer::Stub& stub, int mebibytes) {
  grpc::ClientContext context;
  const auto stream = stub.Join(&context);
  for (int sent = 0; sent < mebibytes; ++sent) {
    Part part;
    part.mutable_data()->set_offset(static_cast<std::int64_t>(sent) << 20);
    part.mutable_data()->mutable_bytes()->assign(kPiece, 'x');
    if (!stream->Write(part)) throw std::runtime_error("the source's stream broke");
  }
  stream->WritesDone();
  stream->Finish();
}

// Seconds for so many pieces, from the start of the source.
double TimeTransfer(int port, const Pem& pem, int mebibytes) {
  const auto target = Connect(port, pem);
  grpc::ClientContext context;
  const auto stream = target->Join(&context);
  stream->WaitForInitialMetadata();  // so that the relay knows it as the first one
  const auto start = std::chrono::steady_clock::now();
  std::thread source([&] { Send(*Connect(port, pem), mebibytes); });
  Part part;
  int taken = 0;
  while (stream->Read(&part)) taken += part.data().bytes().size() == kPiece ? 1 : 0;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  source.join();
  if (taken != mebibytes) throw std::runtime_error("pieces are missing");
  return took.count();
}

// Ends with this process. gRPC must not have been used before the fork.
[[noreturn]] void Serve(const Options& options, int port_fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Relay relay(ReadPem(options.controller_tls));
  const int port = relay.port();
  if (::write(port_fd, &port, sizeof(port)) != sizeof(port)) ::_exit(1);
  while (true) ::pause();
}

int Run(const Options& options) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t relay = ::fork();
  if (relay == 0) Serve(options, pipe[1]);
  ::close(pipe[1]);  // so that the end of the relay shows
  int port = 0;
  if (::read(pipe[0], &port, sizeof(port)) != sizeof(port)) throw std::runtime_error("no relay");
  std::cout << TimeTransfer(port, ReadPem(options.node_tls), options.mebibytes) << '\n';
  ::kill(relay, SIGKILL);
  ::waitpid(relay, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  CLI::App app{"Measures a stream over gRPC and TLS through a second process."};
  app.add_option("--controller-tls", options.controller_tls)->required();
  app.add_option("--node-tls", options.node_tls)->required();
  app.add_option("--mebibytes", options.mebibytes);
  CLI11_PARSE(app, argc, argv);
  return bench::Run(options);
}
