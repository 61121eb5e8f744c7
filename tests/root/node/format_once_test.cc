// SPDX-License-Identifier: Apache-2.0
#include "node/format_once.h"

#include <catch2/catch.hpp>
#include <string>

#include "fs/filesystem.h"
#include "fs/probe.h"
#include "support/file_pool_fixture.h"
#include "support/foreign_disk.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace format_once_test {

using test::FilePoolFixture;
using test::MountSpec;

constexpr char kOldUuid[] = "7c0e4f3e-0000-4000-8000-000000000002";
constexpr char kForeignUuid[] = "11111111-2222-4333-8444-555555555555";
constexpr Bytes kSize = 16 * kMiB;

struct Fixture : FilePoolFixture {
  absl::Status Ensure() const {
    const os::BlockDevice device = test::Value(pool->MapDevice(id, test::kWriter));
    const auto formatted =
        EnsureFormatted(*pool, test::Value(pool->Get(id)), device, directory.path("undo"));
    REQUIRE_OK(pool->UnmapDevice(id));
    return formatted.status();
  }
  [[nodiscard]] Volume OnDisk() const { return ReadRecord(id).volume; }
  void SetFormatState(VolumeState on_disk, const std::string& uuid) const {
    ChangeRecord(id, [&](pool::VolumeRecord& record) {
      record.volume.state = on_disk;
      record.volume.filesystem_uuid = uuid;
    });
  }
  // mkfs behind the driver's back.
  void Make(const std::string& filesystem, const std::string& uuid) const {
    const os::BlockDevice device = test::Value(pool->MapDevice(id, test::kWriter));
    REQUIRE_OK(fs::FindFilesystem(filesystem)
                   ->Make(device, {.uuid = uuid, .keep_allocation = false, .extra = {}}));
    REQUIRE_OK(pool->UnmapDevice(id));
  }
  [[nodiscard]] std::string Content() const { return ReadFile(ImageOf(id)); }
  void SetContent(const std::string& content) const { WriteFile(ImageOf(id), content); }
  // The device holds the recorded filesystem.
  void CheckHoldsRecorded() const {
    const os::BlockDevice device = test::Value(pool->MapDevice(id, test::kWriter));
    REQUIRE_OK(fs::RequireFilesystem(device, "ext4", OnDisk().filesystem_uuid));
    REQUIRE_OK(pool->UnmapDevice(id));
  }
  // Refused, and neither the bytes nor the record have changed.
  void CheckLeftAlone(const std::string& reason) const {
    const std::string content = Content();
    const std::string record = ReadFile(PathOf(id, "record.json"));
    CHECK_FAILS(Ensure(), kFailedPrecondition, reason);
    CHECK((Content() == content));
    CHECK(ReadFile(PathOf(id, "record.json")) == record);
  }

  const VolumeId id = Create(MountSpec("pvc-1", "ext4", kSize)).id;
};

TEST_CASE_METHOD(Fixture, "a blank volume is formatted once and its filesystem recorded") {
  REQUIRE_OK(Ensure());
  CHECK(OnDisk().state == VolumeState::kFormatted);
  CHECK(IsUuid(OnDisk().filesystem_uuid));
  CheckHoldsRecorded();
  const std::string content = Content();
  Restart();
  REQUIRE_OK(Ensure());
  CHECK((Content() == content));
}

TEST_CASE_METHOD(Fixture, "a volume never formatted that holds anything is left alone") {
  SECTION("a filesystem, even one of the right kind") { Make("ext4", kForeignUuid); }
  SECTION("a byte at the very start") { SetContent("x" + std::string(kSize - 1, '\0')); }
  SECTION("a byte at the very end") { SetContent(std::string(kSize - 1, '\0') + "x"); }
  SECTION("zeros at the start, data behind") {
    SetContent(std::string(kMiB - 1, '\0') + std::string(kSize - kMiB + 1, 'x'));
  }
  CheckLeftAlone("is not blank");
}

TEST_CASE_METHOD(Fixture, "a volume never formatted that holds somebody's disk is left alone") {
  for (const test::ForeignDisk& disk : test::ForeignDisks(kSize)) {
    CAPTURE(disk.type);
    ChangeRecord(id, [&](pool::VolumeRecord& record) {  // some need a larger disk
      record.volume.capacity_bytes = static_cast<Bytes>(disk.content.size());
    });
    SetContent(disk.content);
    CheckLeftAlone("it was left alone");
  }
}

TEST_CASE_METHOD(Fixture, "a formatted volume is never formatted again") {
  SECTION("its filesystem has been wiped") {
    Make("ext4", kOldUuid);
    SetFormatState(VolumeState::kFormatted, kOldUuid);
    SetContent(std::string(kSize, '\0'));
  }
  SECTION("its superblock alone has been wiped") {
    Make("ext4", kOldUuid);
    SetFormatState(VolumeState::kFormatted, kOldUuid);
    SetContent(Content().replace(0, 4096, 4096, '\0'));
  }
  SECTION("it holds another filesystem") {
    Make("ext4", kForeignUuid);
    SetFormatState(VolumeState::kFormatted, kOldUuid);
  }
  SECTION("it holds a filesystem of another kind") {
    Make("ext3", kOldUuid);
    SetFormatState(VolumeState::kFormatted, kOldUuid);
  }
  CheckLeftAlone("should hold ext4 with UUID " + std::string(kOldUuid));
}

TEST_CASE_METHOD(Fixture, "an interrupted formatting is begun again, and then it is over") {
  SECTION("mkfs had not begun") {}
  SECTION("mkfs had written a little that nobody recognises") {
    SetContent(std::string(kSize / 2, '\0') + std::string(4096, 'x') +
               std::string(kSize / 2 - 4096, '\0'));
  }
  SECTION("mkfs had finished, and only the record was not written") { Make("ext4", kOldUuid); }
  SECTION("mkfs had finished but for the journal's end") {
    Make("ext4", kOldUuid);
    SetContent(Content().replace(kSize - kMiB, kMiB, kMiB, 'x'));
  }
  SetFormatState(VolumeState::kFormatting, kOldUuid);
  Restart();
  REQUIRE_OK(Ensure());
  CHECK(OnDisk().state == VolumeState::kFormatted);
  CHECK(OnDisk().filesystem_uuid != kOldUuid);
  CheckHoldsRecorded();
  const std::string content = Content();
  REQUIRE_OK(Ensure());
  CHECK((Content() == content));
}

TEST_CASE_METHOD(Fixture, "another's bytes on a volume whose formatting was interrupted stay") {
  SECTION("another ext4") { Make("ext4", kForeignUuid); }
  SECTION("a partition table") { SetContent(test::DosPartitions(kSize).content); }
  SECTION("an encrypted disk") { SetContent(test::Luks(kSize, 2).content); }
  SetFormatState(VolumeState::kFormatting, kOldUuid);
  CheckLeftAlone("it is left alone");
}

TEST_CASE_METHOD(Fixture, "a mkfs that fails leaves a volume that can be formatted later") {
  ChangeRecord(id, [](pool::VolumeRecord& record) {
    record.volume.mkfs_options = {"-I", "64"};  // inodes smaller than mkfs accepts
  });
  for (int attempt = 0; attempt < 2; ++attempt) {
    CHECK_FAILS(Ensure(), kInternal, "mk");
    CHECK(OnDisk().state == VolumeState::kFormatting);
  }
  ChangeRecord(id, [](pool::VolumeRecord& record) { record.volume.mkfs_options = {}; });
  REQUIRE_OK(Ensure());
  CHECK(OnDisk().state == VolumeState::kFormatted);
}

TEST_CASE_METHOD(Fixture, "a volume that is being made or deleted is not formatted") {
  const os::BlockDevice device = test::Value(pool->MapDevice(id, test::kWriter));
  Volume volume = test::Value(pool->Get(id));
  for (const auto unusable : {VolumeState::kAllocating, VolumeState::kDeleting}) {
    volume.state = unusable;
    CHECK_FAILS(EnsureFormatted(*pool, volume, device, directory.path("undo")), kInternal,
                "cannot be formatted");
  }
  REQUIRE_OK(pool->UnmapDevice(id));
  CHECK((Content() == std::string(kSize, '\0')));
}

}  // namespace format_once_test
}  // namespace holdfast::node
