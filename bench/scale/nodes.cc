// SPDX-License-Identifier: Apache-2.0
// bench-nodes: thousands of nodes in one process, linked to one controller over TLS. Each has its
// own certificate, token, stream and volumes. On SIGTERM it prints its counts and ends like nodes
// that lose power.
#include <absl/synchronization/mutex.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <thread>

#include "proto/link.grpc.pb.h"
#include "scale/names.h"
#include "scale/node.h"

namespace {

struct Options {
  std::string controller;
  std::string authority;
  std::string issuer;
  int nodes = 1000;
  int volumes = 20;
  int pushes = 0;
};

Options Parse(int argc, char** argv) {
  Options options;
  CLI::App app("Simulated nodes; bench/scale/run calls it");
  app.add_option("--controller", options.controller, "address:port of the link")->required();
  app.add_option("--authority", options.authority, "directory with ca.crt and ca.key")->required();
  app.add_option("--issuer", options.issuer, "directory with the key of the tokens")->required();
  app.add_option("--nodes", options.nodes);
  app.add_option("--volumes", options.volumes, "of each node");
  app.add_option("--pushes", options.pushes, "changes of free space per second, of all nodes");
  app.parse(argc, argv);
  return options;
}

// gRPC 1.51 ends its callback threads with the last channel that uses them. It frees their queue
// twice if the next channel is opened at that moment, as after a restart of the controller. This
// channel uses them permanently, through a call that is never started.
class ThreadHolder final {
 public:
  ThreadHolder() { stub_->async()->Connect(&context_, &reactor_); }

 private:
  class Reactor final
      : public grpc::ClientBidiReactor<holdfast::link::v1::FromNode, holdfast::link::v1::ToNode> {};

  grpc::ClientContext context_;
  Reactor reactor_;
  std::unique_ptr<holdfast::link::v1::Link::Stub> stub_ = holdfast::link::v1::Link::NewStub(
      grpc::CreateChannel("localhost:0", grpc::InsecureChannelCredentials()));
};

// Spread evenly over the second.
void Push(std::deque<bench::Node>& nodes, int per_second) {
  using Clock = std::chrono::steady_clock;
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(1)) / per_second;
  auto next = Clock::now();
  for (std::size_t number = 0;; number = (number + 1) % nodes.size()) {
    nodes[number].PushPools();
    next += interval;
    std::this_thread::sleep_until(next);
  }
}

void Run(const Options& options) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  // As in the driver: Debian's build checks every lock for cycles, which is slow.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const ThreadHolder holder;
  bench::Events events;
  bench::Authority authority(options.authority);
  const bench::TokenIssuer issuer(options.issuer);
  std::deque<bench::Node> nodes;
  for (int number = 0; number < options.nodes; ++number) {
    nodes.emplace_back(options.controller, bench::NodeName(number), options.volumes, authority,
                       issuer, events);
  }
  for (bench::Node& node : nodes) node.Dial();
  if (options.pushes > 0) {
    std::thread([&] { Push(nodes, options.pushes); }).detach();
  }
  int signal = 0;
  sigwait(&ends, &signal);
  std::cout << events.ToJson() << std::endl;
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run(Parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "bench-nodes: " << error.what() << "\n";
    return 1;
  }
}
