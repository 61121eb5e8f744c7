// SPDX-License-Identifier: Apache-2.0
#include "server/reconciler.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "support/captured_stderr.h"
#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::server {
namespace reconciler_test {

namespace stdfs = std::filesystem;
using std::chrono::milliseconds;
using test::BlockSpec;
using test::NodeFixture;

constexpr milliseconds kOften{10};
constexpr std::chrono::hours kOnce{1};
constexpr std::chrono::seconds kDeadline{60};

template <typename Condition>
void Await(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (!condition() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  REQUIRE(condition());
}

struct Fixture : NodeFixture {
  void AwaitRounds(const Reconciler& reconciler, std::uint64_t more) const {
    const std::uint64_t wanted = reconciler.rounds() + more;
    Await([&] { return reconciler.rounds() >= wanted; });
  }
  VolumeId MakeTombstone(const std::string& name) {
    // As a call does it: otherwise a reconciler at work ends the creation half-way.
    const auto call = test::Value(locks.TryLock(pool->IdForName(name).ToString(), "CreateVolume"));
    const VolumeId id = Create(BlockSpec(name)).id;
    SetState(id, VolumeState::kDeleting);
    return id;
  }
  static int Count(const std::string& text, const std::string& part) {
    int count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  KeyLock locks;
};

TEST_CASE_METHOD(Fixture, "leftovers are ended at once after the start, and later as they appear") {
  const VolumeId deleted = MakeTombstone("deleted");
  const VolumeId attached = Create(BlockSpec("attached")).id;
  REQUIRE_OK(pool->MapDevice(attached, test::kWriter));
  Reconciler reconciler(*pools, node_state, locks, kOften);
  reconciler.Start();
  Await([&] { return !stdfs::exists(PathOf(deleted)) && !IsAttached(attached); });
  const VolumeId later = MakeTombstone("later");
  Await([&] { return !stdfs::exists(PathOf(later)); });
  AwaitRounds(reconciler, 1);
  auto repaired = reconciler.Repaired();
  // It may have seen the later one first while that was being created.
  CHECK(repaired[LeftoverKind::kUnfinishedDeletion] + repaired[LeftoverKind::kUnfinishedCreation] ==
        2);
  CHECK(repaired[LeftoverKind::kOrphanedDevice] == 1);
  CHECK(reconciler.Open().empty());
}

TEST_CASE_METHOD(Fixture, "what cannot be ended is told once, and once more when it has gone") {
  const VolumeId id = MakeTombstone("kept");
  WriteFile(PathOf(id, "notes.txt"), "mine");
  std::string log;
  {
    const test::CapturedStderr captured;
    Reconciler reconciler(*pools, node_state, locks, kOften);
    reconciler.Start();
    AwaitRounds(reconciler, 5);
    REQUIRE(reconciler.Open().size() == 1);
    const Reconciler::OpenLeftover open = reconciler.Open()[0];
    CHECK(open.leftover.kind == LeftoverKind::kUnfinishedDeletion);
    CHECK(open.leftover.subject == id.ToString());
    CHECK_THAT(open.problem, Catch::Contains("notes.txt"));
    CHECK_FALSE(open.since.empty());
    stdfs::remove(PathOf(id, "notes.txt"));
    Await([&] { return reconciler.Open().empty(); });
    CHECK_FALSE(stdfs::exists(PathOf(id)));
    AwaitRounds(reconciler, 2);
    log = captured.text();
  }
  INFO(log);
  CHECK(Count(log, "is left") == 1);
  CHECK(Count(log, "is gone") == 1);
}

TEST_CASE_METHOD(Fixture, "a reconciler that is woken does not wait for its next round") {
  Reconciler reconciler(*pools, node_state, locks, kOnce);
  reconciler.Start();
  AwaitRounds(reconciler, 1);
  const VolumeId later = MakeTombstone("later");
  reconciler.Wake();
  Await([&] { return !stdfs::exists(PathOf(later)); });
}

TEST_CASE_METHOD(Fixture, "a volume on which a call works is passed over") {
  const VolumeId id = MakeTombstone("busy");
  Reconciler reconciler(*pools, node_state, locks, kOften);
  {
    const auto call = test::Value(locks.TryLock(id.ToString(), "DeleteVolume"));
    reconciler.Start();
    AwaitRounds(reconciler, 3);
    CHECK(stdfs::exists(PathOf(id)));
    CHECK(reconciler.Open().empty());
  }
  Await([&] { return !stdfs::exists(PathOf(id)); });
}

TEST_CASE_METHOD(Fixture, "a pool that is away is told of, and nothing in it is touched") {
  const VolumeId id = MakeTombstone("away");
  MountTmpfs(pool_path());
  {
    Reconciler reconciler(*pools, node_state, locks, kOften);
    reconciler.Start();
    AwaitRounds(reconciler, 3);
    REQUIRE(reconciler.Open().size() == 1);
    CHECK(reconciler.Open()[0].leftover.kind == LeftoverKind::kUnreachablePool);
    CHECK(reconciler.Open()[0].leftover.subject == "default");
    CHECK(stdfs::is_empty(pool_path()));
    UnmountPlainly(pool_path());
    Await([&] { return !stdfs::exists(PathOf(id)) && reconciler.Open().empty(); });
  }
}

TEST_CASE_METHOD(Fixture, "it stops at once, before, between and within rounds") {
  for (int number = 0; number < 20; ++number) (void)MakeTombstone(fmt::format("pvc-{}", number));
  Reconciler never(*pools, node_state, locks, kOnce);
  never.Stop();
  Reconciler within(*pools, node_state, locks, kOnce);
  within.Start();
  within.Stop();
  Reconciler between(*pools, node_state, locks, kOnce);
  between.Start();
  Await([&] { return between.rounds() == 1; });
  between.Stop();
  CHECK(stdfs::is_empty(pool_path() + "/volumes"));
}

}  // namespace reconciler_test
}  // namespace holdfast::server
