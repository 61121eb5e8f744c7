// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "os/block_device.h"
#include "support/file_pool_fixture.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace file_pool_grow_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;
using test::FilePoolFixture;

TEST_CASE_METHOD(FilePoolFixture, "a volume grows, keeps its bytes and stays grown") {
  const auto provisioning = GENERATE(Provisioning::kThick, Provisioning::kThin);
  const Volume volume = Create(BlockSpec("pvc-1", kMiB, provisioning));
  WriteFile(ImageOf(volume.id), std::string(kMiB, 'x'));
  CHECK(test::Value(pool->Grow(volume.id, 3 * kMiB, 0)).capacity_bytes == 3 * kMiB);
  CHECK((ReadFile(ImageOf(volume.id)) == std::string(kMiB, 'x') + std::string(2 * kMiB, '\0')));
  CHECK(ReadRecord(volume.id).grow_to_bytes == 0);
  const pool::PoolUsage usage = test::Value(pool->GetUsage());
  CHECK(usage.thick_provisioned + usage.thin_provisioned == 3 * kMiB);
  Restart();
  CHECK(test::Value(pool->Get(volume.id)).capacity_bytes == 3 * kMiB);
}

TEST_CASE_METHOD(FilePoolFixture, "a size that the volume has is given as it is, never less") {
  const Volume volume = Create(BlockSpec("pvc-1", 2 * kMiB));
  CHECK(test::Value(pool->Grow(volume.id, 2 * kMiB, 0)).capacity_bytes == 2 * kMiB);
  CHECK(test::Value(pool->Grow(volume.id, kMiB, 0)).capacity_bytes == 2 * kMiB);
  CHECK(test::Value(pool->Grow(volume.id, kMiB, 2 * kMiB)).capacity_bytes == 2 * kMiB);
  CHECK(test::Value(pool->Grow(volume.id, 0, 0)).capacity_bytes == 2 * kMiB);
  CHECK(std::filesystem::file_size(ImageOf(volume.id)) == 2 * kMiB);
}

TEST_CASE_METHOD(FilePoolFixture, "sizes are rounded up within the limit") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  CHECK(test::Value(pool->Grow(volume.id, kMiB + 1, 2 * kMiB)).capacity_bytes == kMiB + 4096);
}

TEST_CASE_METHOD(FilePoolFixture, "what cannot be is refused and changes nothing") {
  const Volume volume = Create(BlockSpec("pvc-1", 2 * kMiB));
  CHECK_FAILS(pool->Grow(volume.id, 0, kMiB), kOutOfRange, "cannot shrink");
  CHECK_FAILS(pool->Grow(volume.id, 2 * kMiB + 1, 2 * kMiB + 2), kOutOfRange, "limit_bytes");
  CHECK_FAILS(pool->Grow(volume.id, Bytes{1} << 60, 0), kResourceExhausted, "does not fit");
  CHECK_FAILS(pool->Grow(pool->IdForName("never made"), kMiB, 0), kNotFound, "");
  CHECK(ReadRecord(volume.id).grow_to_bytes == 0);
  CHECK(std::filesystem::file_size(ImageOf(volume.id)) == 2 * kMiB);
  CHECK(test::Value(pool->GetUsage()).thick_provisioned == 2 * kMiB);
}

// Growth would give a truncated image its size back, with zeros for data.
TEST_CASE_METHOD(FilePoolFixture, "a damaged image is not grown, also by what was cut short") {
  const Volume volume = Create(BlockSpec("pvc-1", 2 * kMiB));
  SECTION("before the growth") {
    SECTION("truncated") { stdfs::resize_file(ImageOf(volume.id), kMiB); }
    SECTION("replaced by a larger one") { stdfs::resize_file(ImageOf(volume.id), 3 * kMiB); }
    SECTION("gone") { stdfs::remove(ImageOf(volume.id)); }
    CHECK_FAILS(pool->Grow(volume.id, 4 * kMiB, 0), kFailedPrecondition, volume.id.uuid);
    CHECK(ReadRecord(volume.id).grow_to_bytes == 0);
  }
  SECTION("in the middle of one") {
    ChangeRecord(volume.id, [](pool::VolumeRecord& record) { record.grow_to_bytes = 4 * kMiB; });
    stdfs::resize_file(ImageOf(volume.id), kMiB);
    CHECK_FAILS(pool->Grow(volume.id, 4 * kMiB, 0), kFailedPrecondition, "truncated or replaced");
    CHECK_FAILS(pool->MapDevice(volume.id, test::kWriter), kFailedPrecondition,
                "truncated or replaced");
    Restart();
    CHECK(stdfs::file_size(ImageOf(volume.id)) == kMiB);
  }
}

TEST_CASE_METHOD(FilePoolFixture, "an attached device shows the growth at once") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  const os::BlockDevice device = test::Value(pool->MapDevice(volume.id, test::kWriter));
  REQUIRE_OK(pool->Grow(volume.id, 2 * kMiB, 0));
  CHECK(test::Value(os::InspectBlockDevice(device.path)).size == 2 * kMiB);
  CHECK(test::Value(pool->MapDevice(volume.id, test::kWriter)).number == device.number);
  REQUIRE_OK(pool->UnmapDevice(volume.id));
}

// The possible states after a kill during a growth: the target is recorded, and the image is
// anywhere between unchanged and complete.
TEST_CASE_METHOD(FilePoolFixture, "a growth that was cut short is finished by whoever comes next") {
  const auto provisioning = GENERATE(Provisioning::kThick, Provisioning::kThin);
  const Bytes image_size = GENERATE(as<Bytes>(), kMiB, 2 * kMiB, 3 * kMiB);
  const Volume volume = Create(BlockSpec("pvc-1", kMiB, provisioning));
  Stop();
  std::filesystem::resize_file(ImageOf(volume.id), static_cast<std::uintmax_t>(image_size));
  ChangeRecord(volume.id, [](pool::VolumeRecord& record) { record.grow_to_bytes = 3 * kMiB; });
  Start();
  SECTION("the start") {}
  SECTION("a repeated growth") {
    CHECK(test::Value(pool->Grow(volume.id, 3 * kMiB, 0)).capacity_bytes == 3 * kMiB);
  }
  SECTION("the next stage") {
    CHECK(test::Value(pool->MapDevice(volume.id, test::kWriter)).size == 3 * kMiB);
    REQUIRE_OK(pool->UnmapDevice(volume.id));
  }
  CHECK(test::Value(pool->Get(volume.id)).capacity_bytes == 3 * kMiB);
  CHECK(std::filesystem::file_size(ImageOf(volume.id)) == 3 * kMiB);
  CHECK(ReadRecord(volume.id).grow_to_bytes == 0);
  const pool::PoolUsage usage = test::Value(pool->GetUsage());
  CHECK(usage.thick_provisioned + usage.thin_provisioned == 3 * kMiB);
}

// The same without a restart: a call failed after the target was recorded.
TEST_CASE_METHOD(FilePoolFixture, "a growth left open in a running process is finished too") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  const os::BlockDevice device = test::Value(pool->MapDevice(volume.id, test::kWriter));
  ChangeRecord(volume.id, [](pool::VolumeRecord& record) { record.grow_to_bytes = 2 * kMiB; });
  SECTION("by a repeated growth") {
    CHECK(test::Value(pool->Grow(volume.id, 2 * kMiB, 0)).capacity_bytes == 2 * kMiB);
  }
  SECTION("by the next stage") {
    CHECK(test::Value(pool->MapDevice(volume.id, test::kWriter)).size == 2 * kMiB);
  }
  CHECK(test::Value(os::InspectBlockDevice(device.path)).size == 2 * kMiB);
  CHECK(ReadRecord(volume.id).volume.capacity_bytes == 2 * kMiB);
  REQUIRE_OK(pool->UnmapDevice(volume.id));
}

}  // namespace file_pool_grow_test
}  // namespace holdfast::file
