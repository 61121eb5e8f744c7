// SPDX-License-Identifier: Apache-2.0
// A volume that was formatted and used, with a record from before that.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "fs/probe.h"
#include "node/format_once.h"
#include "support/file_pool_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace old_record_test {

using test::FilePoolFixture;
using test::MountSpec;

constexpr char kMark[] = "trusted.holdfast.formatted";
constexpr char kOther[] = "11111111-2222-4333-8444-555555555555";

struct OldRecord : FilePoolFixture {
  void Make(const std::string& type, Bytes size) {
    id = Create(MountSpec("old", type, size)).id;
    REQUIRE_OK(Ensure());
    uuid = ReadRecord(id).volume.filesystem_uuid;
  }
  absl::Status Ensure() const {
    const os::BlockDevice device = test::Value(pool->MapDevice(id, test::kWriter));
    const auto formatted =
        EnsureFormatted(*pool, test::Value(pool->Get(id)), device, directory.path("undo"));
    REQUIRE_OK(pool->UnmapDevice(id));
    return formatted.status();
  }
  // A pod writes a file.
  void Use() const {
    const os::BlockDevice device = test::Value(pool->MapDevice(id, test::kWriter));
    const std::string target = directory.path("mount");
    std::filesystem::create_directory(target);
    const std::string type = ReadRecord(id).volume.filesystem;
    REQUIRE(::mount(device.path.c_str(), target.c_str(), type.c_str(), 0, nullptr) == 0);
    WriteFile(target + "/precious", "data");
    REQUIRE(::umount2(target.c_str(), UMOUNT_NOFOLLOW) == 0);
    REQUIRE_OK(pool->UnmapDevice(id));
  }
  void SetOldRecord(VolumeState state_on_disk, const std::string& filesystem_uuid) {
    ChangeRecord(id, [&](pool::VolumeRecord& record) {
      record.volume.state = state_on_disk;
      record.volume.filesystem_uuid = filesystem_uuid;
    });
    Restart();
  }
  void DropMark() const { REQUIRE(::removexattr(ImageOf(id).c_str(), kMark) == 0); }
  [[nodiscard]] std::string Mark() const {
    std::string value(256, '\0');
    const ssize_t size = ::getxattr(ImageOf(id).c_str(), kMark, value.data(), value.size());
    return size < 0 ? "" : value.substr(0, static_cast<std::size_t>(size));
  }
  void CheckBroughtForward() const {
    const std::string content = ReadFile(ImageOf(id));
    const std::string type = ReadRecord(id).volume.filesystem;
    REQUIRE_OK(Ensure());
    CHECK((ReadFile(ImageOf(id)) == content));
    CHECK(ReadRecord(id).volume.state == VolumeState::kFormatted);
    CHECK(ReadRecord(id).volume.filesystem_uuid == uuid);
    CHECK(Mark() == type + " " + uuid);
  }
  void CheckLeftAlone(const std::string& reason) const {
    const std::string content = ReadFile(ImageOf(id));
    const std::string record = ReadFile(PathOf(id, "record.json"));
    CHECK_FAILS(Ensure(), kFailedPrecondition, reason);
    CHECK((ReadFile(ImageOf(id)) == content));
    CHECK(ReadFile(PathOf(id, "record.json")) == record);
  }

  VolumeId id;
  std::string uuid;
};

TEST_CASE_METHOD(OldRecord, "a record of the first stage is brought up to date") {
  const auto [type, size] = GENERATE(table<std::string, Bytes>(
      {{"ext4", 16 * kMiB}, {"ext3", 16 * kMiB}, {"xfs", 300 * kMiB}, {"btrfs", 256 * kMiB}}));
  Make(type, size);
  CHECK(Mark() == type + " " + uuid);
  SECTION("used, as the record says") { Use(); }
  SECTION("used, and the backup program dropped the attribute") {
    Use();
    DropMark();
  }
  SECTION("never mounted: a kill came between the attribute and the record") {}
  SetOldRecord(VolumeState::kFormatting, uuid);
  CheckBroughtForward();
}

TEST_CASE_METHOD(OldRecord, "a record of an earlier try or of before the first stage gives way") {
  Make("ext4", 16 * kMiB);
  Use();
  SECTION("an earlier mkfs was cut short") { SetOldRecord(VolumeState::kFormatting, kOther); }
  SECTION("it was never staged") { SetOldRecord(VolumeState::kReady, ""); }
  CheckBroughtForward();
}

TEST_CASE_METHOD(OldRecord, "in doubt nothing is formatted, and the message says what is old") {
  Make("ext4", 16 * kMiB);
  Use();
  SECTION("the attribute was dropped, and the record tells of an earlier mkfs") {
    DropMark();
    SetOldRecord(VolumeState::kFormatting, kOther);
    CheckLeftAlone("its record is older than its bytes");
  }
  SECTION("the attribute was dropped, and the record is of before the first stage") {
    DropMark();
    SetOldRecord(VolumeState::kReady, "");
    CheckLeftAlone("its record is older than its bytes");
  }
  SECTION("the filesystem was damaged since") {
    const auto old = GENERATE(VolumeState::kReady, VolumeState::kFormatting);
    SetOldRecord(old, old == VolumeState::kReady ? "" : uuid);
    WriteFile(ImageOf(id), ReadFile(ImageOf(id)).replace(0, 4096, 4096, '\0'));
    CheckLeftAlone("its bytes were in use");
  }
  SECTION("nothing is left of it but the attribute") {
    SetOldRecord(VolumeState::kReady, "");
    WriteFile(ImageOf(id), std::string(16 * kMiB, '\0'));
    CheckLeftAlone("its bytes were in use");
  }
}

TEST_CASE_METHOD(OldRecord, "what mkfs alone has written is still made blank") {
  const auto [type, size] = GENERATE(table<std::string, Bytes>(
      {{"ext4", 16 * kMiB}, {"ext3", 16 * kMiB}, {"xfs", 300 * kMiB}, {"btrfs", 256 * kMiB}}));
  Make(type, size);
  DropMark();  // it runs after mkfs
  SetOldRecord(VolumeState::kFormatting, uuid);
  REQUIRE_OK(Ensure());
  CHECK(ReadRecord(id).volume.state == VolumeState::kFormatted);
  CHECK(ReadRecord(id).volume.filesystem_uuid != uuid);
}

}  // namespace old_record_test
}  // namespace holdfast::node
