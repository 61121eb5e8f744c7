// SPDX-License-Identifier: Apache-2.0
// How long a stream of the link lasts, and how it is renewed. Over loopback, without TLS.
#define CATCH_CONFIG_EXTERNAL_INTERFACES  // for listeners
#include <grpcpp/grpcpp.h>
#include <sys/mount.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <future>
#include <thread>

#include "link/hub.h"
#include "link/node_link.h"
#include "support/await.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::link {
namespace link_renewal_test {

using std::chrono::milliseconds;
using test::Await;
using test::Patience;

constexpr char kDriver[] = "csi.holdfast.dev";
constexpr milliseconds kOften{200};
constexpr std::chrono::hours kNever{1};
// Accepts every node until a test changes that.
class Belief final : public NodeIdentity {
 public:
  absl::Status Check(const std::vector<std::string>&, const v1::Register&) override {
    if (believes) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kUnauthenticated, "the node's token has expired");
  }
  std::atomic<bool> believes = true;
};

// The descriptors of gRPC's first poller stay for the life of the process: they are made here,
// before leaks are counted.
class Library final : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testRunStarting(const Catch::TestRunInfo&) override {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials());
    const std::unique_ptr<grpc::Server> first = builder.BuildAndStart();
    if (first != nullptr) first->Shutdown();
  }
};
CATCH_REGISTER_LISTENER(Library)

struct Controller {
  Controller(const std::string& host, int wanted_port, milliseconds max_age = kNever)
      : hub(kDriver, belief, {.max_stream_age = max_age}) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(host + ":" + std::to_string(wanted_port),
                             grpc::InsecureServerCredentials(), &port);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.RegisterService(&hub.service());
    server = builder.BuildAndStart();
    REQUIRE(server != nullptr);
    REQUIRE(port != 0);
  }
  ~Controller() {
    hub.Stop();
    server->Shutdown();
  }
  absl::StatusOr<v1::Result> Call(const std::string& volume) {
    v1::Command command;
    command.set_method("Any");
    command.set_request(volume);
    return hub.Call("n1", command, Patience());
  }
  Belief belief;
  Hub hub;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

// Answers commands; one about volume "slow" not before it may.
struct Node {
  Node(const std::string& controller, milliseconds renewal)
      : link(controller, grpc::InsecureChannelCredentials(),
             NodeWork{.describe =
                          [this] {
                            ++descriptions;
                            v1::Register self;
                            self.set_protocol(kProtocol);
                            self.set_driver(kDriver);
                            self.set_node("n1");
                            return self;
                          },
                      .name_volumes = [](const auto&) {},
                      .measure = [] { return v1::Pools(); },
                      .carry_out =
                          [this](const v1::Command& command) {
                            if (command.request() == "slow") {
                              slow_begun = true;
                              Await([this] { return slow_may_end.load(); });
                            }
                            return v1::Result();
                          },
                      .changes_space = [](const auto&) { return false; },
                      .count_pools = [] { return std::size_t{0}; },
                      .note_link = [this](bool linked) { is_linked = linked; }},
             renewal) {}
  std::atomic<int> descriptions = 0;
  std::atomic<bool> slow_begun = false;
  std::atomic<bool> slow_may_end = false;
  std::atomic<bool> is_linked = false;
  NodeLink link;  // the last: its threads use the others
};

TEST_CASE("a link is renewed, and no command is lost by that") {
  Controller controller("127.0.0.1", 0);
  Node node("127.0.0.1:" + std::to_string(controller.port), kOften);
  REQUIRE(controller.hub.WaitFor("n1", Patience()));
  auto slow = std::async(std::launch::async, [&] { return controller.Call("slow"); });
  Await([&] { return node.slow_begun.load(); });
  const int before = node.descriptions;
  while (node.descriptions < before + 5) {
    REQUIRE_OK(controller.Call("quick"));
    REQUIRE(controller.hub.CountNodes() == 1);
  }
  node.slow_may_end = true;
  REQUIRE_OK(slow.get());  // sent by the first stream, and answered there
  CHECK(controller.hub.Missing().empty());
}

TEST_CASE("a stream that is too old ends, but not under a command; its node comes back") {
  Controller controller("127.0.0.1", 0, milliseconds(1));
  Node node("127.0.0.1:" + std::to_string(controller.port), kNever);
  REQUIRE(controller.hub.WaitFor("n1", Patience()));
  auto slow = std::async(std::launch::async, [&] { return controller.Call("slow"); });
  Await([&] { return node.slow_begun.load(); });
  controller.hub.EndOverdue();
  REQUIRE_OK(controller.Call("quick"));
  CHECK(node.descriptions == 1);
  node.slow_may_end = true;
  REQUIRE_OK(slow.get());
  Await([&] { return node.descriptions == 2; });
  REQUIRE_OK(controller.Call("quick"));
}

TEST_CASE("a node that is believed no more loses its link") {
  Controller controller("127.0.0.1", 0, milliseconds(300));
  Node node("127.0.0.1:" + std::to_string(controller.port), kOften);
  REQUIRE(controller.hub.WaitFor("n1", Patience()));
  controller.belief.believes = false;
  Await([&] {
    controller.hub.EndOverdue();
    return controller.hub.CountNodes() == 0;
  });
  controller.belief.believes = true;
  CHECK(controller.hub.WaitFor("n1", Patience()));
}

TEST_CASE("a node notes whether it has a link") {
  auto controller = std::make_unique<Controller>("127.0.0.1", 0);
  const int port = controller->port;
  Node node("127.0.0.1:" + std::to_string(port), kNever);
  Await([&] { return node.is_linked.load(); });
  controller.reset();
  Await([&] { return !node.is_linked; });
  controller = std::make_unique<Controller>("127.0.0.1", port);
  Await([&] { return node.is_linked.load(); });
}

// Replaces /etc/hosts, only in this process's own mount namespace.
class Hosts final {
 public:
  Hosts() {
    Point("controller.test", "127.0.0.1");
    REQUIRE(::mount(path_.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0);
  }
  ~Hosts() { ::umount("/etc/hosts"); }
  void Point(const std::string& name, const std::string& address) {
    std::ofstream(path_) << address << " " << name << "\n";
  }

 private:
  test::TempDirectory directory_;
  const std::string path_ = directory_.path("hosts");
};

TEST_CASE("a node follows the controller's name, also while the old controller lives") {
  Controller old_one("127.0.0.1", 0);
  Controller new_one("127.0.0.2", old_one.port);
  Hosts hosts;
  Node node("controller.test:" + std::to_string(old_one.port), kOften);
  REQUIRE(old_one.hub.WaitFor("n1", Patience()));
  auto slow = std::async(std::launch::async, [&] { return old_one.Call("slow"); });
  Await([&] { return node.slow_begun.load(); });
  hosts.Point("controller.test", "127.0.0.2");
  REQUIRE(new_one.hub.WaitFor("n1", Patience()));
  REQUIRE_OK(new_one.Call("quick"));
  node.slow_may_end = true;
  REQUIRE_OK(slow.get());
  Await([&] { return old_one.hub.CountNodes() == 0; });
  CHECK(new_one.hub.CountNodes() == 1);
}

TEST_CASE("a name that leads nowhere is no reason to give the link up") {
  Controller controller("127.0.0.1", 0);
  Hosts hosts;
  Node node("controller.test:" + std::to_string(controller.port), kOften);
  REQUIRE(controller.hub.WaitFor("n1", Patience()));
  const int before = node.descriptions;
  hosts.Point("controller.test", "127.0.0.2");  // no process listens there
  Await([&] { return node.descriptions >= before + 3; });
  REQUIRE_OK(controller.Call("quick"));
  CHECK(controller.hub.Missing().empty());
}

}  // namespace link_renewal_test
}  // namespace holdfast::link
