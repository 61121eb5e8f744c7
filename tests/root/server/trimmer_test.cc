// SPDX-License-Identifier: Apache-2.0
#include "server/trimmer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <string>

#include "support/await.h"
#include "support/captured_stderr.h"
#include "support/formatted_volume.h"
#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::server {
namespace trimmer_test {

using std::chrono::milliseconds;
using test::MountSpec;
using test::NodeFixture;
using test::Value;

constexpr milliseconds kOften{10};
constexpr Bytes kSize = 320 * kMiB;
constexpr Bytes kData = 64 * kMiB;

struct Fixture : NodeFixture {
  [[nodiscard]] Bytes Allocated(const VolumeId& id) const {
    struct stat facts {};
    REQUIRE(::stat(ImageOf(id).c_str(), &facts) == 0);
    return facts.st_blocks * 512;
  }
  static void WriteAndDelete(const std::string& mount) {
    test::WriteFile(mount + "/data", std::string(kData, 'x'));
    std::filesystem::remove(mount + "/data");
    const os::UniqueFd root(::open(mount.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::syncfs(root.get()) == 0);
  }
  static void AwaitRounds(const Trimmer& trimmer, std::uint64_t more) {
    const std::uint64_t wanted = trimmer.figures().rounds + more;
    test::Await([&] { return trimmer.figures().rounds >= wanted; });
  }

  KeyLock locks;
};

TEST_CASE_METHOD(Fixture, "each round gives back what was deleted since, and counts it") {
  const VolumeId id = Create(MountSpec("pvc-1", "ext4", kSize)).id;
  REQUIRE_OK(Stage(id));
  Trimmer trimmer(*pools, node_state, locks);
  CHECK_FALSE(trimmer.is_on());
  CHECK_FALSE(trimmer.figures().last_round);
  trimmer.Start(kOften);
  CHECK(trimmer.is_on());
  for (int round = 0; round < 2; ++round) {
    WriteAndDelete(staging());
    test::Await([&] { return Allocated(id) < kData / 2; });
  }
  AwaitRounds(trimmer, 1);
  const Trimmer::Figures figures = trimmer.figures();
  CHECK(figures.trimmed_bytes >= 2 * kData);
  CHECK(figures.done >= 2);
  CHECK(figures.failed == 0);
  CHECK(figures.last_round);
  trimmer.Stop();
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "one that cannot be trimmed keeps no other from it, and is not told of") {
  const VolumeId thick = Create(MountSpec("thick", "ext4", kSize, Provisioning::kThick)).id;
  const VolumeId thin = Create(MountSpec("thin", "ext4", kSize)).id;
  const std::string other = directory.path("other");
  std::filesystem::create_directory(other);
  REQUIRE_OK(Stage(thin));
  REQUIRE_OK(StageAt(thick, other, test::MountUse()));
  WriteAndDelete(other);
  WriteAndDelete(staging());
  std::string log;
  {
    const test::CapturedStderr captured;
    Trimmer trimmer(*pools, node_state, locks);
    trimmer.Start(kOften);
    test::Await([&] { return Allocated(thin) < kData / 2; });
    AwaitRounds(trimmer, 2);
    CHECK(trimmer.figures().failed == 0);
    trimmer.Stop();
    log = captured.text();
  }
  CHECK(Allocated(thick) >= kSize);
  CHECK_THAT(log, Catch::Contains("trimmed volume " + thin.ToString()));
  CHECK_THAT(log, !Catch::Contains(thick.ToString()));
  CHECK_THAT(log, !Catch::Contains("warning"));
  REQUIRE_OK(Unstage(thin));
  REQUIRE_OK(node::Stager(*pools, node_state, path_locks).Unstage(thick.ToString(), other));
}

TEST_CASE_METHOD(Fixture, "a call has the volume first") {
  const VolumeId id = Create(MountSpec("pvc-1", "ext4", kSize)).id;
  REQUIRE_OK(Stage(id));
  WriteAndDelete(staging());
  Trimmer trimmer(*pools, node_state, locks);
  {
    const auto call = Value(locks.TryLock(id.ToString(), "NodeExpandVolume"));
    trimmer.Start(milliseconds(0));
    test::Await([&] { return trimmer.figures().put_off > 0; });
    CHECK(Allocated(id) > kData);
    CHECK(trimmer.figures().trimmed_bytes == 0);
  }
  test::Await([&] { return Allocated(id) < kData / 2; });
  trimmer.Stop();
  REQUIRE_OK(Unstage(id));
}

// As the service does it: with the volume's lock, and each answer must be OK.
TEST_CASE_METHOD(Fixture, "no call fails for a trim, and a volume that has gone is left") {
  const std::string type = GENERATE("ext4", "xfs");
  const VolumeId id = Create(MountSpec("pvc-1", type, kSize)).id;
  Trimmer trimmer(*pools, node_state, locks);
  trimmer.Start(milliseconds(0));
  const auto call = [&](const std::string& name, auto work) {
    const auto lock = Value(locks.TryLock(id.ToString(), name));
    REQUIRE_OK(work());
  };
  for (int cycle = 0; cycle < 25; ++cycle) {
    CAPTURE(type, cycle);
    call("NodeStageVolume", [&] { return Stage(id); });
    call("NodePublishVolume", [&] { return Publish(id, target()); });
    const std::uint64_t before = trimmer.figures().trimmed_bytes;
    if (cycle % 5 == 0) WriteAndDelete(staging());
    if (cycle % 2 == 0) test::Await([&] { return trimmer.figures().trimmed_bytes > before; });
    call("NodeUnpublishVolume", [&] { return Unpublish(id, target()); });
    call("NodeUnstageVolume", [&] { return Unstage(id); });
    CheckGone(id);
  }
  trimmer.Stop();
  CHECK(trimmer.figures().failed == 0);
}

TEST_CASE_METHOD(Fixture, "it stops at once, before and within rounds, and between steps") {
  const VolumeId id = Create(MountSpec("pvc-1", "ext4", kSize)).id;
  REQUIRE_OK(Stage(id));
  const auto begun = std::chrono::steady_clock::now();
  Trimmer never(*pools, node_state, locks);
  never.Stop();
  Trimmer before(*pools, node_state, locks);
  before.Start(std::chrono::hours(24));
  before.Stop();
  Trimmer within(*pools, node_state, locks);
  within.Start(milliseconds(0));
  test::Await([&] { return within.figures().trimmed_bytes > 0; });
  within.Stop();
  const auto call = Value(locks.TryLock(id.ToString(), "NodeExpandVolume"));
  Trimmer waiting(*pools, node_state, locks);
  waiting.Start(milliseconds(0));
  test::Await([&] { return waiting.figures().put_off > 0; });
  waiting.Stop();
  CHECK(std::chrono::steady_clock::now() - begun < test::kPatience);
  REQUIRE_OK(Unstage(id));
}

}  // namespace trimmer_test
}  // namespace holdfast::server
