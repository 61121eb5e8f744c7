// SPDX-License-Identifier: Apache-2.0
// Calls that meet at one path.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "node/target_paths.h"
#include "os/descriptor_gates.h"
#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace busy_path_test {

using test::MountSpec;
using test::MountUse;
using test::NodeFixture;

os::RequestPath Target(const std::string& path) {
  return test::Value(os::RequestPath::Open(path, "target_path"));
}

// Whether the thread waits for something: proc(5), the third word of its stat.
bool Waits(pid_t thread) {
  std::ifstream file(fmt::format("/proc/self/task/{}/stat", thread));
  std::string id, name, state;
  file >> id >> name >> state;
  return state == "S";
}

TEST_CASE_METHOD(NodeFixture, "an unpublish waits for a look at the mount") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id));
  REQUIRE_OK(Publish(id, target()));
  std::atomic<pid_t> thread = 0;
  std::atomic<bool> ended = false;
  absl::Status unpublished;
  {
    const auto look = os::LookAtMount();
    const os::UniqueFd handle = test::Value(Target(target()).OpenHandle());
    std::jthread([&] {
      thread = ::gettid();
      unpublished = Unpublish(id, target());
      ended = true;
    }).detach();
    while (thread == 0 || (!ended && !Waits(thread))) std::this_thread::yield();
  }
  while (!ended) std::this_thread::yield();
  CHECK(unpublished == absl::OkStatus());
  CHECK_FALSE(Exists(target()));
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(NodeFixture, "one call at a time at a path, whatever leads there") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id));
  const std::string twin = directory.path("twin");
  std::filesystem::create_directory(twin);
  REQUIRE(::mount(pods().c_str(), twin.c_str(), nullptr, MS_BIND, nullptr) == 0);
  const std::string spelling = GENERATE(as<std::string>(), "/a", "/a/");
  const std::string busy = (GENERATE(false, true) ? pods() : twin) + spelling;
  {
    const auto lock = test::Value(LockPath(path_locks, Target(busy)));
    CHECK_FAILS(Publish(id, target("a")), kAborted, "another call is at work at");
    CHECK_FAILS(Unpublish(id, target("a")), kAborted, target("a"));
    CHECK_FAILS(StageAt(id, target("a"), MountUse()), kAborted, target("a"));
    CHECK_FALSE(Exists(target("a")));
    REQUIRE_OK(Publish(id, target("b")));
  }
  REQUIRE_OK(Publish(id, target("a")));
  REQUIRE_OK(Unpublish(id, target("a")));
  REQUIRE_OK(Unpublish(id, target("b")));
  UnmountPlainly(twin);
  REQUIRE_OK(Unstage(id));
}

}  // namespace busy_path_test
}  // namespace holdfast::node
