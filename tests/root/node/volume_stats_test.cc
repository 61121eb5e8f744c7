// SPDX-License-Identifier: Apache-2.0
#include "node/volume_stats.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace volume_stats_test {

using test::BlockSpec;
using test::BlockUse;
using test::MountSpec;
using test::MountUse;
using test::NodeFixture;

struct Fixture : NodeFixture {
  absl::StatusOr<VolumeStats> Measure(const VolumeId& id, const std::string& path) const {
    return MeasureVolume(*pools, id.ToString(), path);
  }
  // The condition as soon as it is abnormal, or after five seconds.
  VolumeCondition AwaitAbnormal(const VolumeId& id) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (true) {
      const VolumeCondition condition = test::Value(Measure(id, staging())).condition;
      if (condition.abnormal || std::chrono::steady_clock::now() > end) return condition;
    }
  }
};

TEST_CASE_METHOD(Fixture,
                 "a filesystem's figures are the same wherever it is seen, and move with use") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id));
  REQUIRE_OK(Publish(id, target()));
  std::filesystem::create_directory(pods() + "/subpath");
  REQUIRE(::mount(target().c_str(), (pods() + "/subpath").c_str(), nullptr, MS_BIND, nullptr) == 0);
  const VolumeStats before = test::Value(Measure(id, target()));
  CHECK(before.access_type == AccessType::kMount);
  CHECK(before.filesystem->total > 24 * kMiB);
  CHECK(before.filesystem->total < 32 * kMiB);
  CHECK(before.filesystem->used + before.filesystem->available <= before.filesystem->total);
  CHECK(before.filesystem->inodes_used + before.filesystem->inodes_available ==
        before.filesystem->inodes_total);
  CHECK_FALSE(before.condition.abnormal);
  WriteFile(target() + "/data", std::string(4 * kMiB, 'x'));
  for (const std::string& path : {staging(), target(), pods() + "/subpath"}) {
    CAPTURE(path);
    const VolumeStats after = test::Value(Measure(id, path));
    CHECK(after.filesystem->total == before.filesystem->total);
    CHECK(after.filesystem->inodes_used == before.filesystem->inodes_used + 1);
  }
  UnmountPlainly(pods() + "/subpath");
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "a raw block volume has its size") {
  const VolumeId id = Create(BlockSpec("pvc-1", 2 * kMiB)).id;
  REQUIRE_OK(Stage(id, BlockUse()));
  REQUIRE_OK(Publish(id, target(), BlockUse()));
  const VolumeStats stats = test::Value(Measure(id, target()));
  CHECK(stats.access_type == AccessType::kBlock);
  CHECK(stats.capacity == 2 * kMiB);
  CHECK_FALSE(stats.condition.abnormal);
  CHECK_FAILS(Measure(id, staging()), kNotFound, "is not at");
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "where the volume is not, it is not found") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  CHECK_FAILS(Measure(id, staging()), kNotFound, "is not at");  // not attached
  REQUIRE_OK(Stage(id));
  for (const std::string& path : {pods(), pods() + "/none", std::string("/dev/null"),
                                  std::string("relative"), std::string()}) {
    CAPTURE(path);
    CHECK_FAILS(Measure(id, path), kNotFound, "is not at");
  }
  CHECK_FAILS(Measure(pool->IdForName("never made"), staging()), kNotFound, "");
  REQUIRE_OK(Unstage(id));
  CHECK_FAILS(Measure(id, staging()), kNotFound, "is not at");
}

TEST_CASE_METHOD(Fixture, "a thick volume that lost bytes is abnormal") {
  const VolumeId id = Create(MountSpec("pvc-1", "ext4", 32 * kMiB, Provisioning::kThick)).id;
  REQUIRE_OK(Stage(id));
  CHECK_FALSE(test::Value(Measure(id, staging())).condition.abnormal);
  {
    const os::UniqueFd image(::open(ImageOf(id).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::fallocate(image.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 31 * kMiB,
                        65536) == 0);
  }
  const VolumeCondition condition = test::Value(Measure(id, staging())).condition;
  CHECK(condition.abnormal);
  CHECK_THAT(condition.message, Catch::Contains("not allocated"));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "a filesystem that met errors is abnormal until it has been checked") {
  const auto behaviour = GENERATE(as<std::string>(), "errors=remount-ro", "errors=continue");
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  const VolumeUse use = MountUse(AccessMode::kSingleNodeWriter, {behaviour});
  REQUIRE_OK(Stage(id, use));
  CHECK_FALSE(test::Value(Measure(id, staging())).condition.abnormal);
  const std::string device = MountAt(staging()).source;
  const std::string trigger =
      "/sys/fs/ext4/" + device.substr(device.rfind('/') + 1) + "/trigger_fs_error";
  std::ofstream(trigger) << "test" << std::flush;
  // The kernel notes the error in the superblock a little later.
  const VolumeCondition condition = AwaitAbnormal(id);
  CHECK(condition.abnormal);
  CHECK_THAT(condition.message, Catch::Contains("recorded errors"));
  REQUIRE_OK(Unstage(id));
  REQUIRE_OK(Stage(id, use));
  CHECK_FALSE(test::Value(Measure(id, staging())).condition.abnormal);
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "a volume staged for reading only is not abnormal for that") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id, MountUse(AccessMode::kSingleNodeReaderOnly)));
  CHECK_FALSE(test::Value(Measure(id, staging())).condition.abnormal);
  REQUIRE_OK(Unstage(id));
}

}  // namespace volume_stats_test
}  // namespace holdfast::node
