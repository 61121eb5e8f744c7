// SPDX-License-Identifier: Apache-2.0
#include "node/stage_reconciler.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "core/checked_json.h"
#include "file/image_file.h"
#include "os/mounter.h"
#include "support/loop_image.h"
#include "support/mount_point.h"
#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace stage_reconciler_test {

using test::BlockSpec;
using test::BlockUse;
using test::MountSpec;
using test::NodeFixture;

struct Fixture : NodeFixture {
  std::string Found() const {
    std::string text;
    const StageReconciler reconciler(*pools, node_state);
    for (pool::Pool* const of : {static_cast<pool::Pool*>(nullptr), pools->all().front()}) {
      for (const Leftover& leftover : test::Value(reconciler.Find(of))) {
        text += fmt::format("{}{}", text.empty() ? "" : " ", ToString(leftover.kind));
      }
    }
    return text;
  }
  absl::StatusOr<bool> Repair() const {
    return StageReconciler(*pools, node_state).Repair(id.ToString());
  }
  std::string StageFile() const {
    return directory.path("state") + "/stages/" + id.ToString() + ".json";
  }

  const VolumeId id = pool->IdForName("pvc-1");
};

TEST_CASE_METHOD(Fixture, "what is staged and published is wanted") {
  (void)Create(MountSpec("pvc-1"));
  REQUIRE_OK(Stage(id));
  REQUIRE_OK(Publish(id, target()));
  CHECK(Found().empty());
  CHECK_FALSE(test::Value(Repair()));
  REQUIRE_OK(stages.Remove(id.ToString()));  // lost: the mount says enough
  CHECK(Found().empty());
  CHECK_FALSE(test::Value(Repair()));
  UnmountPlainly(staging());  // still published
  CHECK(Found().empty());
  CHECK_FALSE(test::Value(Repair()));
  REQUIRE_OK(Unpublish(id, target()));
  CHECK(Found() == "orphaned-device");
  CHECK(test::Value(Repair()));
  CheckGone(id);
}

TEST_CASE_METHOD(Fixture, "raw block that is staged is wanted, though nothing is mounted") {
  (void)Create(BlockSpec("pvc-1"));
  REQUIRE_OK(Stage(id, BlockUse()));
  CHECK(Found().empty());
  CHECK_FALSE(test::Value(Repair()));
  CHECK(IsAttached(id));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "a device that a killed stage attached is detached") {
  (void)Create(GENERATE(MountSpec("pvc-1"), BlockSpec("pvc-1")));
  REQUIRE_OK(pool->MapDevice(id, test::kWriter));
  Restart();
  CHECK(Found() == "orphaned-device");
  CHECK(test::Value(Repair()));
  CheckGone(id);
  CHECK(Found().empty());
}

TEST_CASE_METHOD(Fixture, "a device that another program attached or uses is left alone") {
  (void)Create(BlockSpec("pvc-1"));
  const auto volume_directory = test::Value(os::OpenDirectory(PathOf(id)));
  const auto image = test::Value(file::OpenImage(volume_directory.get()));
  SECTION("attached by another, not by us") {
    const test::AttachedLoop foreign(image.get());
    CHECK(Found().empty());
    CHECK_FALSE(test::Value(Repair()));
    CHECK(test::Value(test::FindLoop(image.get()))->index == foreign->index);
  }
  SECTION("attached by both") {
    REQUIRE_OK(pool->MapDevice(id, test::kWriter));
    {
      const test::AttachedLoop foreign(image.get());
      CHECK(Found() == "orphaned-device");
      CHECK_FAILS(Repair(), kFailedPrecondition, "attached twice");
    }
    CHECK(test::Value(Repair()));
  }
  SECTION("mounted by another") {
    const os::BlockDevice device = test::Value(pool->MapDevice(id, test::kWriter));
    const auto rescue = test::Value(os::RequestPath::Open(directory.path("rescue"), "target"));
    REQUIRE_OK(rescue.MakeFile());
    REQUIRE_OK(test::BindPath(device.path, rescue, false, {}));
    CHECK(Found().empty());
    CHECK_FALSE(test::Value(Repair()));
    CHECK(IsAttached(id));
    REQUIRE_OK(os::Unmount(rescue));
    CHECK(test::Value(Repair()));
  }
  SECTION("open in another program") {
    const os::BlockDevice device = test::Value(pool->MapDevice(id, test::kWriter));
    {
      const os::UniqueFd open(::open(device.path.c_str(), O_RDONLY | O_CLOEXEC));
      CHECK_FAILS(Repair(), kFailedPrecondition, "still");
      CHECK(IsAttached(id));
    }
    CHECK(test::Value(Repair()));
  }
}

TEST_CASE_METHOD(Fixture, "a staging that a killed unstage left is ended") {
  (void)Create(MountSpec("pvc-1"));
  REQUIRE_OK(Stage(id));
  UnmountPlainly(staging());
  SECTION("after the unmount") {}
  SECTION("after the detach") { REQUIRE_OK(pool->UnmapDevice(id)); }
  SECTION("the volume is deleted") {
    REQUIRE_OK(pool->UnmapDevice(id));
    REQUIRE_OK(pool->Delete(id));
  }
  CHECK(Found() == "stale-staging");
  CHECK(test::Value(Repair()));
  CHECK(test::CodeOf(stages.Find(id.ToString())) == absl::StatusCode::kNotFound);
  CHECK(test::Value(pool->ListOwnDevices()).empty());
  CHECK(Found().empty());
}

TEST_CASE_METHOD(Fixture, "a stage record that says nothing any more goes") {
  (void)Create(BlockSpec("pvc-1"));
  REQUIRE_OK(Stage(id, BlockUse()));
  REQUIRE_OK(pool->UnmapDevice(id));  // as a reboot does
  const std::string text = ReadFile(StageFile());
  SECTION("damaged") { WriteFile(StageFile(), text.substr(text.size() / 2)); }
  SECTION("empty") { WriteFile(StageFile(), ""); }
  SECTION("of another boot") { WriteFile(StageFile(), EncodeChecked({{"boot_id", "another"}}, 1)); }
  CHECK(Found() == "void-stage-record");
  CHECK(test::Value(Repair()));
  CHECK_FALSE(std::filesystem::exists(StageFile()));
}

TEST_CASE_METHOD(Fixture, "a damaged record of a device that is there is kept") {
  (void)Create(BlockSpec("pvc-1"));
  REQUIRE_OK(Stage(id, BlockUse()));
  WriteFile(StageFile(), "damaged");
  CHECK(Found() == "void-stage-record");
  CHECK_FAILS(Repair(), kFailedPrecondition, "damaged");
  CHECK(IsAttached(id));
  REQUIRE_OK(Unstage(id));  // does not need it
  CHECK(Found().empty());
}

TEST_CASE_METHOD(Fixture, "files that are no stage records, and volumes of other pools, are kept") {
  const std::string other = directory.path("state") + "/stages/other:n1:" + id.uuid + ".json";
  const std::string notes = directory.path("state") + "/stages/notes.txt";
  WriteFile(notes, "mine");
  (void)Create(BlockSpec("pvc-1"));
  REQUIRE_OK(Stage(id, BlockUse()));
  state::StageRecord record = test::Value(stages.Find(id.ToString()));
  record.volume_id = "other:n1:" + id.uuid;
  REQUIRE_OK(stages.Write(record));
  CHECK(Found().empty());
  CHECK_FAILS(StageReconciler(*pools, node_state).Repair(record.volume_id), kFailedPrecondition,
              "not configured here");
  CHECK(std::filesystem::exists(other));
  CHECK(ReadFile(notes) == "mine");
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "nothing is touched while the pool cannot be reached") {
  (void)Create(MountSpec("pvc-1"));
  REQUIRE_OK(Stage(id));
  UnmountPlainly(staging());
  MountTmpfs(pool_path());
  CHECK(Found().empty());
  CHECK_FAILS(Repair(), kFailedPrecondition, "");
  UnmountPlainly(pool_path());
  CHECK(Found() == "stale-staging");
  CHECK(test::Value(Repair()));
}

TEST_CASE_METHOD(Fixture,
                 "what an interrupted e2fsck has to take back lives as long as the volume") {
  (void)Create(MountSpec("pvc-1"));
  const std::string undo = node_state.undo.PathFor(id);
  const std::string used = undo + ".used";
  WriteFile(undo, "bytes");
  WriteFile(used, "bytes");
  SECTION("the device of the stage is left") { REQUIRE_OK(pool->MapDevice(id, test::kWriter)); }
  SECTION("its record too") { WriteFile(StageFile(), "damaged"); }
  SECTION("unstaged by the CO") { REQUIRE_OK(Unstage(id)); }
  (void)Repair();
  CHECK(Found().empty());
  CHECK_FALSE(IsAttached(id));
  CHECK(std::filesystem::exists(undo));
  CHECK(std::filesystem::exists(used));
  REQUIRE_OK(pool->Delete(id));  // by a process that is killed before it has removed the rest
  CHECK(Found() == "stale-staging");
  CHECK(test::Value(Repair()));
  CHECK_FALSE(std::filesystem::exists(undo));
  CHECK_FALSE(std::filesystem::exists(used));
}

}  // namespace stage_reconciler_test
}  // namespace holdfast::node
