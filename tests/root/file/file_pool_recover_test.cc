// SPDX-License-Identifier: Apache-2.0
// Starts with every half-done state that a kill can leave, each created by the test.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "os/mounter.h"
#include "support/file_pool_fixture.h"
#include "support/mount_point.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace file_pool_recover_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;
using test::FilePoolFixture;

// A healthy volume exists beside the half-done one, and must be unchanged afterwards.
struct Fixture : FilePoolFixture {
  Fixture() { WriteFile(ImageOf(healthy.id), std::string(kMiB, 'h')); }
  void Restart() {
    FilePoolFixture::Restart();
    CHECK(test::Value(pool->Get(healthy.id)).capacity_bytes == kMiB);
    CHECK((ReadFile(ImageOf(healthy.id)) == std::string(kMiB, 'h')));
  }
  // All provisioned space, as a new start counts it.
  Bytes Promised() const { return test::Value(pool->GetUsage()).thick_provisioned; }

  const Volume healthy = Create(BlockSpec("healthy"));
  const VolumeId half = pool->IdForName("half");
};

TEST_CASE_METHOD(Fixture, "a creation that the CO was never told of is removed") {
  SECTION("an empty directory") { stdfs::create_directory(PathOf(half)); }
  SECTION("a record that was never whole") {
    stdfs::create_directory(PathOf(half));
    WriteFile(PathOf(half, "record.json.tmp"), "{\"uu");
  }
  SECTION("a record, no image yet") {
    (void)Create(BlockSpec("half"));
    SetState(half, VolumeState::kAllocating);
    stdfs::remove(ImageOf(half));
  }
  SECTION("a record and part of the image") {
    (void)Create(BlockSpec("half"));
    SetState(half, VolumeState::kAllocating);
    stdfs::resize_file(ImageOf(half), 4096);
  }
  SECTION("all but the last record") {
    (void)Create(BlockSpec("half"));
    SetState(half, VolumeState::kAllocating);
    WriteFile(PathOf(half, "record.json.tmp"), ReadFile(PathOf(half, "record.json")));
  }
  SECTION("by a repeated call instead of the start") {
    (void)Create(BlockSpec("half"));
    SetState(half, VolumeState::kAllocating);
    CHECK(Create(BlockSpec("half", 2 * kMiB)).capacity_bytes == 2 * kMiB);
    CHECK(Promised() == 3 * kMiB);
    REQUIRE_OK(pool->Delete(half));
  }
  Restart();
  CHECK_FALSE(stdfs::exists(PathOf(half)));
  CHECK_FALSE(stdfs::exists(TrashOf(half)));
  CHECK_FAILS(pool->Get(half), kNotFound, "");
  CHECK(pool->List("", 0).value().size() == 1);
  CHECK(Promised() == kMiB);
}

TEST_CASE_METHOD(Fixture, "an image without a record is never removed, by anything") {
  (void)Create(BlockSpec("half"));
  WriteFile(ImageOf(half), std::string(kMiB, 'd'));
  Stop();
  const std::string record = ReadFile(PathOf(half, "record.json"));
  stdfs::remove(PathOf(half, "record.json"));
  Start();
  CHECK_FAILS(pool->Get(half), kInternal, "has an image but no record");
  CHECK_FAILS(pool->Create(BlockSpec("half")), kInternal, "no record");
  CHECK_FAILS(pool->Delete(half), kInternal, "no record");
  CHECK_FAILS(pool->MapDevice(half, test::kWriter), kInternal, "no record");
  Restart();
  CHECK((ReadFile(ImageOf(half)) == std::string(kMiB, 'd')));
  WriteFile(PathOf(half, "record.json"), record);  // the remedy that the message names
  Restart();
  CHECK(test::Value(pool->Get(half)).name == "half");
  CHECK(Promised() == 2 * kMiB);
}

TEST_CASE_METHOD(Fixture, "a damaged record keeps its volume, and the others from nothing") {
  (void)Create(BlockSpec("half"));
  std::string record = ReadFile(PathOf(half, "record.json"));
  record[record.find("half")] ^= 1;
  WriteFile(PathOf(half, "record.json"), record);
  Restart();
  CHECK_FAILS(pool->Get(half), kInternal, "damaged");
  CHECK_FAILS(pool->Create(BlockSpec("half")), kInternal, "damaged");
  CHECK_FAILS(pool->Delete(half), kInternal, "damaged");
  CHECK(stdfs::file_size(ImageOf(half)) == kMiB);
  REQUIRE(pool->List("", 0).value().size() == 1);
  REQUIRE_OK(pool->Delete(Create(BlockSpec("third")).id));
}

TEST_CASE_METHOD(Fixture, "a deletion that was cut short is finished") {
  (void)Create(BlockSpec("half"));
  SECTION("after the tombstone") { SetState(half, VolumeState::kDeleting); }
  SECTION("after the tombstone, still attached") {
    REQUIRE_OK(pool->MapDevice(half, test::kWriter));
    SetState(half, VolumeState::kDeleting);
  }
  SECTION("in the trash") {
    SetState(half, VolumeState::kDeleting);
    stdfs::rename(PathOf(half), TrashOf(half));
  }
  SECTION("in the trash, without the image") {
    SetState(half, VolumeState::kDeleting);
    stdfs::rename(PathOf(half), TrashOf(half));
    stdfs::remove(TrashOf(half) + "/image");
  }
  SECTION("in the trash, empty") {
    stdfs::remove_all(PathOf(half));
    stdfs::create_directory(TrashOf(half));
  }
  SECTION("an old one in the trash under a new tombstone") {
    SetState(half, VolumeState::kDeleting);
    stdfs::create_directory(TrashOf(half));
    WriteFile(TrashOf(half) + "/image", "old");
  }
  Restart();
  CHECK_FALSE(stdfs::exists(PathOf(half)));
  CHECK_FALSE(stdfs::exists(TrashOf(half)));
  CHECK(Promised() == kMiB);
}

TEST_CASE_METHOD(Fixture, "a repeated deletion or creation carries on without a restart") {
  (void)Create(BlockSpec("half"));
  const bool create = GENERATE(false, true);
  SECTION("from the tombstone") { SetState(half, VolumeState::kDeleting); }
  SECTION("from the trash") { stdfs::rename(PathOf(half), TrashOf(half)); }
  if (create) {
    REQUIRE(Create(BlockSpec("half", 2 * kMiB)).capacity_bytes == 2 * kMiB);
    CHECK(Promised() == 3 * kMiB);
    CHECK_FALSE(stdfs::exists(TrashOf(half)));
  }
  REQUIRE_OK(pool->Delete(half));
  CHECK_FALSE(stdfs::exists(PathOf(half)));
  CHECK_FALSE(stdfs::exists(TrashOf(half)));
  CHECK(Promised() == kMiB);
}

TEST_CASE_METHOD(Fixture,
                 "what is not ours is kept in the trash, and the promise ends all the same") {
  (void)Create(BlockSpec("half"));
  WriteFile(PathOf(half, "notes.txt"), "mine");
  CHECK_FAILS(pool->Delete(half), kInternal, "");
  CHECK(ReadFile(TrashOf(half) + "/notes.txt") == "mine");
  CHECK_FAILS(pool->Get(half), kNotFound, "");
  CHECK(Promised() == kMiB);
  Restart();  // is not kept from starting
  CHECK(ReadFile(TrashOf(half) + "/notes.txt") == "mine");
  stdfs::remove(TrashOf(half) + "/notes.txt");
  REQUIRE_OK(pool->Delete(half));
  CHECK_FALSE(stdfs::exists(TrashOf(half)));
}

TEST_CASE_METHOD(Fixture, "a tombstone whose device is still bound waits until it is not") {
  (void)Create(BlockSpec("half"));
  const os::BlockDevice device = test::Value(pool->MapDevice(half, test::kWriter));
  const auto target = test::Value(os::RequestPath::Open(directory.path("target"), "target"));
  REQUIRE_OK(target.MakeFile());
  REQUIRE_OK(test::BindPath(device.path, target, false, {}));
  SetState(half, VolumeState::kDeleting);
  Restart();
  CHECK_FAILS(pool->Get(half), kNotFound, "");
  CHECK(stdfs::exists(ImageOf(half)));
  CHECK_FAILS(pool->Delete(half), kUnavailable, "");
  REQUIRE_OK(os::Unmount(target));
  REQUIRE_OK(pool->Delete(half));
  CHECK_FALSE(stdfs::exists(PathOf(half)));
}

TEST_CASE_METHOD(Fixture, "a ready, formatting or formatted volume is left as it is") {
  VolumeSpec spec = test::MountSpec("half", "ext4", 16 * kMiB, Provisioning::kThick);
  (void)Create(spec);
  const auto usable =
      GENERATE(VolumeState::kReady, VolumeState::kFormatting, VolumeState::kFormatted);
  ChangeRecord(half, [&](pool::VolumeRecord& record) {
    record.volume.state = usable;
    record.volume.filesystem_uuid = "7c0e4f3e-0000-4000-8000-000000000002";
  });
  WriteFile(ImageOf(half), std::string(16 * kMiB, 'd'));
  const std::string record = ReadFile(PathOf(half, "record.json"));
  Restart();
  CHECK(ReadFile(PathOf(half, "record.json")) == record);
  CHECK((ReadFile(ImageOf(half)) == std::string(16 * kMiB, 'd')));
  CHECK(Promised() == 17 * kMiB);
}

TEST_CASE_METHOD(Fixture, "a volume whose image has gone keeps its promise until it is deleted") {
  (void)Create(BlockSpec("half"));
  Stop();
  stdfs::remove(ImageOf(half));
  Start();
  CHECK(Promised() == 2 * kMiB);
  CHECK(pool->Condition(test::Value(pool->Get(half))).abnormal);
  REQUIRE_OK(pool->Delete(half));
  CHECK(Promised() == kMiB);
}

TEST_CASE_METHOD(Fixture, "names that are no volumes are left alone") {
  WriteFile(pool_path() + "/volumes/notes.txt", "mine");
  stdfs::create_directory(pool_path() + "/volumes/backup");
  Restart();
  CHECK(ReadFile(pool_path() + "/volumes/notes.txt") == "mine");
  CHECK(stdfs::exists(pool_path() + "/volumes/backup"));
  CHECK(pool->List("", 0).value().size() == 1);
}

}  // namespace file_pool_recover_test
}  // namespace holdfast::file
