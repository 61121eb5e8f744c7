// SPDX-License-Identifier: Apache-2.0
// What a pool repairs while it serves, and what it leaves to the administrator.
// file_pool_recover_test.cc has half-done states after a kill, whose starts end with the same
// Repair.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "file/image_file.h"
#include "os/loop_number.h"
#include "os/mounter.h"
#include "support/file_pool_fixture.h"
#include "support/loop_image.h"
#include "support/mount_point.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace file_pool_repair_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;
using test::FilePoolFixture;

struct Fixture : FilePoolFixture {
  // Kind and volume of the leftover, "" if there is none.
  std::string Found() const {
    std::string text;
    for (const Leftover& leftover : test::Value(pool->FindLeftovers())) {
      text += fmt::format("{} {} ", ToString(leftover.kind), leftover.subject == half.ToString());
    }
    return text;
  }
  Bytes Promised() const { return test::Value(pool->GetUsage()).thick_provisioned; }

  const VolumeId half = pool->IdForName("half");
};

TEST_CASE_METHOD(Fixture, "a pool in order has no leftovers, and settling changes nothing") {
  const Volume volume = Create(BlockSpec("half"));
  REQUIRE_OK(pool->MapDevice(half, test::kWriter));
  CHECK(Found().empty());
  CHECK_FALSE(test::Value(pool->Repair(half)));
  CHECK_FALSE(test::Value(pool->Repair(pool->IdForName("never"))));
  CHECK(test::Value(pool->Get(half)).capacity_bytes == volume.capacity_bytes);
  CHECK(IsAttached(half));
  REQUIRE_OK(pool->UnmapDevice(half));
}

TEST_CASE_METHOD(Fixture, "removals that were cut short are found and finished while serving") {
  (void)Create(BlockSpec("half"));
  std::string kind;
  SECTION("a creation") {
    SetState(half, VolumeState::kAllocating);
    kind = "unfinished-creation";
  }
  SECTION("a deletion, with its device") {
    REQUIRE_OK(pool->MapDevice(half, test::kWriter));
    SetState(half, VolumeState::kDeleting);
    kind = "unfinished-deletion";
  }
  SECTION("in the trash") {
    stdfs::rename(PathOf(half), TrashOf(half));
    kind = "trash";
  }
  CHECK(Found() == kind + " true ");
  CHECK(test::Value(pool->Repair(half)));
  CHECK_FALSE(stdfs::exists(PathOf(half)));
  CHECK_FALSE(stdfs::exists(TrashOf(half)));
  CHECK(os::LoopLabels("holdfast:" + half.uuid).empty());
  CHECK(Found().empty());
}

TEST_CASE_METHOD(Fixture, "a growth that was cut short is finished, and the device shows it") {
  (void)Create(BlockSpec("half"));
  REQUIRE_OK(pool->MapDevice(half, test::kWriter));
  ChangeRecord(half, [](pool::VolumeRecord& record) { record.grow_to_bytes = 2 * kMiB; });
  CHECK(Found() == "unfinished-growth true ");
  CHECK(test::Value(pool->Repair(half)));
  CHECK(test::Value(pool->Get(half)).capacity_bytes == 2 * kMiB);
  CHECK(test::Value(pool->FindDevice(half))->size == 2 * kMiB);
  CHECK(Promised() == 2 * kMiB);
  CHECK(Found().empty());
  REQUIRE_OK(pool->UnmapDevice(half));
}

TEST_CASE_METHOD(Fixture, "a start promises what a growth that was cut short will need") {
  (void)Create(BlockSpec("half"));
  ChangeRecord(half, [](pool::VolumeRecord& record) { record.grow_to_bytes = 2 * kMiB; });
  Stop();
  auto opened = test::Value(FilePool::Open(config(), "n1", state.get()));
  REQUIRE_OK(opened->Recover());
  CHECK(test::Value(opened->GetUsage()).thick_provisioned == 2 * kMiB);
  CHECK(ReadRecord(half).grow_to_bytes == 2 * kMiB);  // the start itself is quick: it only counts
}

TEST_CASE_METHOD(Fixture, "the temporary file of a record goes") {
  (void)Create(BlockSpec("half"));
  WriteFile(PathOf(half, "record.json.tmp"), "{\"uu");
  CHECK(Found() == "temporary-file true ");
  CHECK(test::Value(pool->Repair(half)));
  CHECK_FALSE(stdfs::exists(PathOf(half, "record.json.tmp")));
}

TEST_CASE_METHOD(Fixture, "a volume that is put back while the pool serves is listed and counted") {
  (void)Create(BlockSpec("half"));
  const std::string record = ReadFile(PathOf(half, "record.json"));
  const std::string image = ReadFile(ImageOf(half));
  REQUIRE_OK(pool->Delete(half));
  stdfs::create_directory(PathOf(half));
  WriteFile(PathOf(half, "record.json"), record);
  WriteFile(ImageOf(half), image);
  CHECK(Found() == "unlisted-volume true ");
  CHECK(test::Value(pool->Repair(half)));
  CHECK(pool->List("", 0).value().size() == 1);
  CHECK(Promised() == kMiB);
  CHECK(Found().empty());
}

TEST_CASE_METHOD(Fixture, "a damaged volume is told of and kept") {
  (void)Create(BlockSpec("half"));
  SECTION("its record") { WriteFile(PathOf(half, "record.json"), "{}"); }
  SECTION("no record") { stdfs::remove(PathOf(half, "record.json")); }
  CHECK(Found() == "damaged-volume true ");
  CHECK_FAILS(pool->Repair(half), kInternal, half.uuid);
  CHECK(stdfs::file_size(ImageOf(half)) == kMiB);
}

TEST_CASE_METHOD(Fixture, "foreign files keep an unfinished removal where it is") {
  (void)Create(BlockSpec("half"));
  const auto removal = GENERATE(VolumeState::kAllocating, VolumeState::kDeleting);
  SetState(half, removal);
  WriteFile(PathOf(half, "notes.txt"), "mine");
  CHECK_FAILS(pool->Repair(half), kFailedPrecondition, "notes.txt");
  CHECK(ReadFile(PathOf(half, "notes.txt")) == "mine");
  CHECK(stdfs::exists(ImageOf(half)));
  stdfs::remove(PathOf(half, "notes.txt"));
  CHECK(test::Value(pool->Repair(half)));
  CHECK_FALSE(stdfs::exists(PathOf(half)));
}

TEST_CASE_METHOD(Fixture, "a directory in which somebody restores a volume is left alone") {
  stdfs::create_directory(PathOf(half));
  WriteFile(PathOf(half, "image.partial"), "on its way");
  CHECK_FAILS(pool->Repair(half), kFailedPrecondition, "image.partial");
  CHECK(ReadFile(PathOf(half, "image.partial")) == "on its way");
}

TEST_CASE_METHOD(Fixture, "a loop device that another program attached is never detached") {
  (void)Create(BlockSpec("half"));
  std::optional<os::BlockDevice> own;
  const bool beside_own = GENERATE(false, true);
  if (beside_own) own = test::Value(pool->MapDevice(half, test::kWriter));
  {
    const auto directory_fd = test::Value(os::OpenDirectory(PathOf(half)));
    const auto image = test::Value(OpenImage(directory_fd.get()));
    const test::AttachedLoop foreign(image.get());
    SetState(half, VolumeState::kDeleting);
    CHECK(test::Value(pool->ListOwnDevices()).size() == (beside_own ? 1 : 0));
    CHECK_FAILS(pool->Repair(half), kFailedPrecondition, "attached");
    CHECK_FAILS(pool->UnmapOwnDevice(half), kFailedPrecondition, "attached");
    CHECK(stdfs::exists(ImageOf(half)));
    CHECK(test::Value(os::InspectBlockDevice(foreign.get().block.path)).size == kMiB);
  }
  if (own) {  // the foreign one is gone: ours can be identified again
    CHECK(test::Value(pool->ListOwnDevices()) == std::vector<VolumeId>{half});
  }
  CHECK(test::Value(pool->Repair(half)));
  CHECK_FALSE(stdfs::exists(PathOf(half)));
}

TEST_CASE_METHOD(Fixture, "a device in use keeps a deletion waiting") {
  (void)Create(BlockSpec("half"));
  const os::BlockDevice device = test::Value(pool->MapDevice(half, test::kWriter));
  const auto target = test::Value(os::RequestPath::Open(directory.path("target"), "target"));
  REQUIRE_OK(target.MakeFile());
  REQUIRE_OK(test::BindPath(device.path, target, false, {}));
  SetState(half, VolumeState::kDeleting);
  CHECK_FAILS(pool->Repair(half), kFailedPrecondition, target.path());
  CHECK(stdfs::exists(ImageOf(half)));
  REQUIRE_OK(os::Unmount(target));
  CHECK(test::Value(pool->Repair(half)));
}

TEST_CASE_METHOD(Fixture, "a pool whose directory was swapped is not touched") {
  (void)Create(BlockSpec("half"));
  SetState(half, VolumeState::kDeleting);
  const std::string aside = pool_path() + "-aside";
  stdfs::rename(pool_path(), aside);
  stdfs::create_directory(pool_path());
  stdfs::copy(aside, pool_path(), stdfs::copy_options::recursive);
  CHECK_FAILS(pool->FindLeftovers(), kFailedPrecondition, "not the one that was opened");
  CHECK_FAILS(pool->Repair(half), kFailedPrecondition, "not the one that was opened");
  CHECK_FAILS(pool->ListOwnDevices(), kFailedPrecondition, "");
  CHECK(stdfs::exists(aside + "/volumes/" + half.uuid + "/image"));
  CHECK(stdfs::exists(ImageOf(half)));
  stdfs::remove_all(pool_path());
  stdfs::rename(aside, pool_path());
  CHECK(test::Value(pool->Repair(half)));
}

}  // namespace file_pool_repair_test
}  // namespace holdfast::file
