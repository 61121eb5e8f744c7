// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "os/block_device.h"
#include "os/file.h"
#include "os/loop_device.h"
#include "os/loop_number.h"
#include "os/mounter.h"
#include "support/file_pool_fixture.h"
#include "support/loop_image.h"
#include "support/mount_point.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace file_pool_attach_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;
using test::FilePoolFixture;
using test::MountSpec;

constexpr char kFilesystemUuid[] = "7c0e4f3e-0000-4000-8000-000000000002";

struct Fixture : FilePoolFixture {
  // The loop device as the kernel has it.
  os::LoopDevice LoopOf(const VolumeId& id) const {
    const os::UniqueFd image(::open(ImageOf(id).c_str(), O_RDWR | O_CLOEXEC));
    const auto loop = test::Value(test::FindLoop(image.get()));
    REQUIRE(loop.has_value());
    return *loop;
  }
  // The device that the pool attaches for the volume.
  std::string LabelOf(const VolumeId& id) {
    REQUIRE_OK(pool->MapDevice(id, test::kWriter));
    std::string label = LoopOf(id).label;
    REQUIRE_OK(pool->UnmapDevice(id));
    return label;
  }
  os::UniqueFd OpenImage(const VolumeId& id) const {
    os::UniqueFd image(::open(ImageOf(id).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(image.valid());
    return image;
  }
  void Punch(const VolumeId& id) const {
    REQUIRE(::fallocate(OpenImage(id).get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                        65536) == 0);
  }
};

TEST_CASE_METHOD(Fixture, "a volume is one device, however often it is attached") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  CHECK_FALSE(IsAttached(volume.id));
  const os::BlockDevice device = test::Value(pool->MapDevice(volume.id, test::kWriter));
  CHECK(device.size == kMiB);
  CHECK_FALSE(device.read_only);
  CHECK(test::Value(pool->MapDevice(volume.id, test::kWriter)).number == device.number);
  CHECK(test::Value(pool->FindDevice(volume.id))->number == device.number);
  Restart();
  CHECK(test::Value(pool->FindDevice(volume.id))->number == device.number);
  CHECK(test::Value(pool->MapDevice(volume.id, test::kWriter)).number == device.number);
  REQUIRE_OK(pool->UnmapDevice(volume.id));
  CHECK_FALSE(IsAttached(volume.id));
  REQUIRE_OK(pool->UnmapDevice(volume.id));
}

TEST_CASE_METHOD(Fixture, "a device that was left attached goes with a new process's detach") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  REQUIRE_OK(pool->MapDevice(volume.id, test::kWriter));
  Restart();
  REQUIRE_OK(pool->UnmapDevice(volume.id));
  CHECK_FALSE(IsAttached(volume.id));
}

TEST_CASE_METHOD(Fixture, "a pool that is not there any more lets go of its devices") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  const Volume unattached = Create(BlockSpec("pvc-2"));
  REQUIRE_OK(pool->MapDevice(volume.id, test::kWriter));
  stdfs::rename(pool_path() + "/holdfast-pool.json", pool_path() + "/away");
  REQUIRE_OK(pool->UnmapDevice(volume.id));
  REQUIRE_OK(pool->UnmapDevice(unattached.id));
  stdfs::rename(pool_path() + "/away", pool_path() + "/holdfast-pool.json");
  CHECK_FALSE(IsAttached(volume.id));
}

TEST_CASE_METHOD(Fixture, "only a thin volume's device takes discards") {
  const Volume thick = Create(BlockSpec("thick", kMiB, Provisioning::kThick));
  const Volume thin = Create(BlockSpec("thin", kMiB, Provisioning::kThin));
  REQUIRE_OK(pool->MapDevice(thick.id, test::kWriter));
  REQUIRE_OK(pool->MapDevice(thin.id, test::kWriter));
  CHECK_FALSE(os::AcceptsDiscard(LoopOf(thick.id).index));
  CHECK(os::AcceptsDiscard(LoopOf(thin.id).index));
  REQUIRE_OK(pool->UnmapDevice(thick.id));
  REQUIRE_OK(pool->UnmapDevice(thin.id));
}

// A process killed between attaching and switching discard off.
TEST_CASE_METHOD(Fixture, "an attached thick volume that still takes discards stops doing so") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  REQUIRE_OK(
      os::AttachLoop(OpenImage(volume.id).get(), os::LoopOptions{.label = LabelOf(volume.id)}));
  REQUIRE(os::AcceptsDiscard(LoopOf(volume.id).index));
  REQUIRE_OK(pool->MapDevice(volume.id, test::kWriter));
  CHECK_FALSE(os::AcceptsDiscard(LoopOf(volume.id).index));
  REQUIRE_OK(pool->UnmapDevice(volume.id));
}

TEST_CASE_METHOD(Fixture, "what does not exist has no device") {
  const VolumeId none = pool->IdForName("never made");
  CHECK_FAILS(pool->MapDevice(none, test::kWriter), kNotFound, "");
  REQUIRE_OK(pool->UnmapDevice(none));
  const Volume volume = Create(BlockSpec("pvc-1"));
  for (const auto unusable : {VolumeState::kAllocating, VolumeState::kDeleting}) {
    SetState(volume.id, unusable);
    CHECK_FAILS(pool->MapDevice(volume.id, test::kWriter), kNotFound, "");
    CHECK_FAILS(pool->Get(volume.id), kNotFound, "");
  }
}

TEST_CASE_METHOD(Fixture, "an image that is not as recorded is not attached") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  SECTION("truncated") { stdfs::resize_file(ImageOf(volume.id), kMiB - 4096); }
  SECTION("longer") { stdfs::resize_file(ImageOf(volume.id), kMiB + 4096); }
  SECTION("gone") { stdfs::remove(ImageOf(volume.id)); }
  CHECK_FAILS(pool->MapDevice(volume.id, test::kWriter), kFailedPrecondition, "image");
  CHECK_FALSE(IsAttached(volume.id));
}

TEST_CASE_METHOD(Fixture, "the condition tells what is wrong, and staging mends what it can") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  CHECK_FALSE(pool->Condition(volume).abnormal);
  Punch(volume.id);
  CHECK(pool->Condition(volume).abnormal);
  CHECK_THAT(pool->Condition(volume).message, Catch::Contains("64 KiB"));
  REQUIRE_OK(pool->MapDevice(volume.id, test::kWriter));
  CHECK_FALSE(pool->Condition(volume).abnormal);
  REQUIRE_OK(pool->UnmapDevice(volume.id));
  stdfs::resize_file(ImageOf(volume.id), 4096);
  CHECK_THAT(pool->Condition(volume).message, Catch::Contains("truncated"));
  stdfs::remove(ImageOf(volume.id));
  CHECK(pool->Condition(volume).abnormal);
}

TEST_CASE_METHOD(Fixture, "a hole in a thin volume is how it should be") {
  const Volume volume = Create(BlockSpec("pvc-1", kMiB, Provisioning::kThin));
  CHECK_FALSE(pool->Condition(volume).abnormal);
}

TEST_CASE_METHOD(Fixture, "formatting goes forward only") {
  const Volume volume = Create(MountSpec("pvc-1"));
  CHECK_FAILS(pool->FinishFormatting(volume.id), kFailedPrecondition, "is ready, not formatting");
  CHECK_FAILS(pool->ZeroVolume(volume.id), kFailedPrecondition, "must not be changed");
  REQUIRE_OK(pool->StartFormatting(volume.id, kFilesystemUuid));
  CHECK(ReadRecord(volume.id).volume.state == VolumeState::kFormatting);
  CHECK(ReadRecord(volume.id).volume.filesystem_uuid == kFilesystemUuid);
  REQUIRE_OK(pool->FinishFormatting(volume.id));
  CHECK(ReadRecord(volume.id).volume.state == VolumeState::kFormatted);
  CHECK_FAILS(pool->StartFormatting(volume.id, kFilesystemUuid), kFailedPrecondition,
              "never formatted again");
  CHECK_FAILS(pool->FinishFormatting(volume.id), kFailedPrecondition, "");
  CHECK_FAILS(pool->ZeroVolume(volume.id), kFailedPrecondition, "must not be changed");
}

TEST_CASE_METHOD(Fixture, "an interrupted formatting is blanked, and only that") {
  const auto provisioning = GENERATE(Provisioning::kThick, Provisioning::kThin);
  const Volume volume = Create(MountSpec("pvc-1", "ext4", 16 * kMiB, provisioning));
  REQUIRE_OK(pool->StartFormatting(volume.id, kFilesystemUuid));
  const os::BlockDevice device = test::Value(pool->MapDevice(volume.id, test::kWriter));
  {
    const os::UniqueFd node(::open(device.path.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(node.get(), "half a superblock", 17, 1024) == 17);
  }
  REQUIRE_OK(pool->ZeroVolume(volume.id));
  CHECK_FALSE(IsAttached(volume.id));
  CHECK((ReadFile(ImageOf(volume.id)) == std::string(16 * kMiB, '\0')));
  CHECK_FALSE(pool->Condition(volume).abnormal);
}

TEST_CASE_METHOD(Fixture, "a volume that is published is neither detached nor deleted") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  const os::BlockDevice device = test::Value(pool->MapDevice(volume.id, test::kWriter));
  const auto target = test::Value(os::RequestPath::Open(directory.path("target"), "target"));
  REQUIRE_OK(target.MakeFile());
  REQUIRE_OK(test::BindPath(device.path, target, false, {}));
  CHECK_FAILS(pool->UnmapDevice(volume.id), kFailedPrecondition, directory.path("target"));
  CHECK_FAILS(pool->Delete(volume.id), kFailedPrecondition, directory.path("target"));
  CHECK(ReadRecord(volume.id).volume.state == VolumeState::kReady);
  CHECK(test::Value(pool->FindDevice(volume.id))->number == device.number);
  REQUIRE_OK(os::Unmount(target));
  REQUIRE_OK(pool->Delete(volume.id));
  CHECK_FALSE(stdfs::exists(PathOf(volume.id)));
}

TEST_CASE_METHOD(Fixture, "a device that somebody holds open ends its deletion when they let go") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  const os::BlockDevice device = test::Value(pool->MapDevice(volume.id, test::kWriter));
  {
    const os::UniqueFd holder(::open(device.path.c_str(), O_RDONLY | O_CLOEXEC));
    CHECK_FAILS(pool->UnmapDevice(volume.id), kFailedPrecondition, "");
    CHECK_FAILS(pool->Delete(volume.id), kUnavailable, "");
    CHECK(ReadRecord(volume.id).volume.state == VolumeState::kDeleting);
    CHECK_FAILS(pool->Get(volume.id), kNotFound, "");
    CHECK(pool->List("", 0).value().empty());
  }
  REQUIRE_OK(pool->Delete(volume.id));
  CHECK_FALSE(stdfs::exists(PathOf(volume.id)));
  CHECK(test::Value(pool->GetUsage()).thick_provisioned == 0);
}

TEST_CASE_METHOD(Fixture, "an attached but unused volume is deleted with its device") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  REQUIRE_OK(pool->MapDevice(volume.id, test::kWriter));
  REQUIRE_OK(pool->Delete(volume.id));
  CHECK_FALSE(stdfs::exists(PathOf(volume.id)));
}

}  // namespace file_pool_attach_test
}  // namespace holdfast::file
