// SPDX-License-Identifier: Apache-2.0
#include "node/expander.h"

#include <sys/statvfs.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "os/block_device.h"
#include "os/capabilities.h"
#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace expander_test {

using test::BlockSpec;
using test::BlockUse;
using test::MountSpec;
using test::MountUse;
using test::NodeFixture;

struct Fixture : NodeFixture {
  absl::StatusOr<Bytes> Expand(const VolumeId& id, Bytes required, Bytes limit = 0) const {
    return Expander(*pools, stages).Expand(id.ToString(), required, limit);
  }
  static Bytes SizeAt(const std::string& path) {
    struct statvfs facts {};
    REQUIRE(::statvfs(path.c_str(), &facts) == 0);
    return static_cast<Bytes>(facts.f_blocks * facts.f_frsize);
  }
};

TEST_CASE_METHOD(Fixture, "a mounted filesystem grows with its data in place") {
  const auto filesystem = GENERATE(as<std::string>(), "xfs", "btrfs");
  const VolumeId id = Create(MountSpec("pvc-1", filesystem, 320 * kMiB)).id;
  REQUIRE_OK(Stage(id));
  REQUIRE_OK(Publish(id, target()));
  WriteFile(target() + "/data", "precious");
  const Bytes before = SizeAt(target());
  SECTION("as one call") {}
  SECTION("after the controller has grown the volume") {
    REQUIRE_OK(pool->Grow(id, 640 * kMiB, 0));
  }
  SECTION("after the record was written and the process killed") {
    ChangeRecord(id, [](pool::VolumeRecord& record) { record.grow_to_bytes = 640 * kMiB; });
    Restart();
  }
  CHECK(test::Value(Expand(id, 640 * kMiB)) == 640 * kMiB);
  const Bytes after = SizeAt(target());
  CHECK(after >= before + 256 * kMiB);
  CHECK(test::Value(Expand(id, 640 * kMiB)) == 640 * kMiB);
  CHECK(test::Value(Expand(id, 0)) == 640 * kMiB);
  CHECK(test::Value(Expand(id, 320 * kMiB)) == 640 * kMiB);  // its present size
  CHECK(SizeAt(target()) == after);
  CHECK(ReadFile(target() + "/data") == "precious");
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture,
                 "ext4 grows while mounted, or says what it lacks and grows at the next stage") {
  const VolumeId id = Create(MountSpec("pvc-1", "ext4", 32 * kMiB)).id;
  REQUIRE_OK(Stage(id));
  const Bytes before = SizeAt(staging());
  if (os::HasCapSysResource()) {
    CHECK(test::Value(Expand(id, 64 * kMiB)) == 64 * kMiB);
  } else {
    CHECK_FAILS(Expand(id, 64 * kMiB), kFailedPrecondition, "CAP_SYS_RESOURCE");
    CHECK(SizeAt(staging()) == before);
    REQUIRE_OK(Unstage(id));
    REQUIRE_OK(Stage(id));
    CHECK(test::Value(Expand(id, 64 * kMiB)) == 64 * kMiB);
  }
  CHECK(SizeAt(staging()) > before * 3 / 2);
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "a raw block device shows its new size") {
  const VolumeId id = Create(BlockSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id, BlockUse()));
  REQUIRE_OK(Publish(id, target(), BlockUse()));
  CHECK(test::Value(Expand(id, 2 * kMiB)) == 2 * kMiB);
  CHECK(test::Value(Expand(id, 2 * kMiB)) == 2 * kMiB);
  CHECK(test::Value(os::InspectBlockDevice(target())).size == 2 * kMiB);
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "what cannot be expanded says why and stays as it is") {
  const VolumeId id = Create(MountSpec("pvc-1", "xfs", 320 * kMiB)).id;
  CHECK_FAILS(Expand(pool->IdForName("never made"), kGiB), kNotFound, "");
  CHECK_FAILS(Expand(id, 640 * kMiB), kFailedPrecondition, "is not staged");
  CHECK(ReadRecord(id).volume.capacity_bytes == 320 * kMiB);
  REQUIRE_OK(Stage(id));
  CHECK_FAILS(Expand(id, 1, 64 * kMiB), kOutOfRange, "cannot shrink");
  CHECK_FAILS(Expand(id, Bytes{1} << 60), kOutOfRange, "does not fit");
  CHECK(ReadRecord(id).volume.capacity_bytes == 320 * kMiB);
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "a volume mounted for reading only waits for its next stage") {
  const VolumeId id = Create(MountSpec("pvc-1", "xfs", 320 * kMiB)).id;
  REQUIRE_OK(Stage(id, MountUse(AccessMode::kSingleNodeReaderOnly)));
  CHECK_FAILS(Expand(id, 640 * kMiB), kFailedPrecondition, "read-only");
  REQUIRE_OK(Unstage(id));
  REQUIRE_OK(Stage(id));
  CHECK(SizeAt(staging()) > 500 * kMiB);
  REQUIRE_OK(Unstage(id));
}

}  // namespace expander_test
}  // namespace holdfast::node
