// SPDX-License-Identifier: Apache-2.0
#include "node/stager.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace stager_test {

using test::BlockSpec;
using test::BlockUse;
using test::MountSpec;
using test::MountUse;
using test::NodeFixture;

TEST_CASE_METHOD(NodeFixture,
                 "a filesystem volume is staged, used and unstaged, and keeps its data") {
  const auto filesystem = GENERATE(as<std::string>(), "ext4", "ext3", "xfs", "btrfs");
  const Bytes size = filesystem.starts_with("ext") ? 32 * kMiB : 300 * kMiB;
  const VolumeId id = Create(MountSpec("pvc-1", filesystem, size)).id;
  REQUIRE_OK(Stage(id));
  CHECK(MountAt(staging()).filesystem == filesystem);
  CHECK_FALSE(MountAt(staging()).read_only);
  WriteFile(staging() + "/data", "precious");
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
  Restart();
  REQUIRE_OK(Stage(id));
  CHECK(ReadFile(staging() + "/data") == "precious");
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(NodeFixture, "staging again changes nothing, also after a restart") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id));
  const os::MountEntry before = MountAt(staging());
  const std::string record = ReadFile(PathOf(id, "record.json"));
  for (int attempt = 0; attempt < 2; ++attempt) {
    REQUIRE_OK(Stage(id));
    CHECK(MountsAt(staging()) == 1);
    CHECK(MountAt(staging()).id == before.id);
    CHECK(MountAt(staging()).device == before.device);
    CHECK(ReadFile(PathOf(id, "record.json")) == record);
    Restart();
  }
  REQUIRE_OK(Unstage(id));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(NodeFixture, "a raw block volume is a device and no mount") {
  const VolumeId id = Create(BlockSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id, BlockUse()));
  REQUIRE_OK(Stage(id, BlockUse()));
  CHECK(IsAttached(id));
  CHECK(MountsAt(staging()) == 0);
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(NodeFixture, "mount flags and the reader's mode reach the mount") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id, MountUse(AccessMode::kSingleNodeReaderOnly, {"noatime", "noexec"})));
  const os::MountEntry entry = MountAt(staging());
  CHECK(entry.read_only);
  CHECK_THAT(entry.mount_options, Catch::Contains("noatime") && Catch::Contains("noexec"));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(NodeFixture, "staged in another way or elsewhere is not staged as asked") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id));
  CHECK_FAILS(Stage(id, MountUse(AccessMode::kSingleNodeWriter)), kAlreadyExists, "access mode");
  CHECK_FAILS(Stage(id, MountUse(AccessMode::kSingleNodeMultiWriter, {"noatime"})), kAlreadyExists,
              "other mount flags");
  CHECK_FAILS(StageAt(id, pods(), MountUse()), kFailedPrecondition, "already staged at");
  CHECK(MountsAt(staging()) == 1);
  CHECK(MountsAt(pods()) == 0);
  REQUIRE_OK(Stage(id));
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(NodeFixture,
                 "a volume is staged only as what it is, and nothing is left of a try") {
  const VolumeId mount = Create(MountSpec("pvc-1")).id;
  const VolumeId block = Create(BlockSpec("pvc-2")).id;
  VolumeUse xfs = MountUse();
  xfs.filesystem = "xfs";
  CHECK_FAILS(Stage(mount, xfs), kFailedPrecondition, "has filesystem ext4");
  CHECK_FAILS(Stage(mount, BlockUse()), kFailedPrecondition, "is a mount volume");
  CHECK_FAILS(Stage(block), kFailedPrecondition, "holds no filesystem");
  CHECK_FAILS(Stage(pool->IdForName("never made")), kNotFound, "");
  CHECK_FAILS(StageAt(mount, directory.path("none/globalmount"), MountUse()), kFailedPrecondition,
              "none");
  CHECK_FAILS(StageAt(mount, "relative", MountUse()), kInvalidArgument, "staging_target_path");
  CheckGone(mount);
  CheckGone(block);
}

TEST_CASE_METHOD(NodeFixture, "a stage that fails leaves nothing attached or mounted") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  SECTION("the staging directory is missing") {
    std::filesystem::remove(staging());
    CHECK_FAILS(Stage(id), kFailedPrecondition, "globalmount");
  }
  SECTION("something else is mounted there") {
    MountTmpfs(staging());
    CHECK_FAILS(Stage(id), kAlreadyExists, "tmpfs");
    CHECK(MountAt(staging()).filesystem == "tmpfs");
    UnmountPlainly(staging());
  }
  SECTION("the filesystem refuses the flags") {
    CHECK_FAILS(Stage(id, MountUse(AccessMode::kSingleNodeWriter, {"data=nonsense"})),
                kInvalidArgument, "data");
  }
  SECTION("the volume holds something else") {
    WriteFile(ImageOf(id), std::string(32 * kMiB, 'x'));
    CHECK_FAILS(Stage(id), kFailedPrecondition, "is not blank");
  }
  SECTION("the image was truncated") {
    std::filesystem::resize_file(ImageOf(id), 4096);
    CHECK_FAILS(Stage(id), kFailedPrecondition, "truncated");
  }
  SECTION("the record cannot be written") {
    // A directory cannot be replaced by a file.
    const std::string record = directory.path("state/stages/" + id.ToString() + ".json");
    std::filesystem::create_directories(record + "/x");
    CHECK_FAILS(Stage(id), kInternal, "json");
    std::filesystem::remove_all(record);
  }
  CheckGone(id);
}

TEST_CASE_METHOD(NodeFixture, "what an earlier stage began is carried on") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  SECTION("attached only") { REQUIRE_OK(pool->MapDevice(id, test::kWriter)); }
  SECTION("mounted, but not recorded") {
    REQUIRE_OK(Stage(id));
    REQUIRE_OK(stages.Remove(id.ToString()));
  }
  SECTION("recorded, but the device and the mount have gone") {
    REQUIRE_OK(Stage(id));
    UnmountPlainly(staging());
    REQUIRE_OK(pool->UnmapDevice(id));
  }
  SECTION("recorded and attached, but not mounted") {
    REQUIRE_OK(Stage(id));
    UnmountPlainly(staging());
  }
  Restart();
  REQUIRE_OK(Stage(id));
  CHECK(MountsAt(staging()) == 1);
  REQUIRE_OK(stages.Find(id.ToString()));
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(NodeFixture, "unstaging what was never or only half staged succeeds") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  SECTION("never staged") {}
  SECTION("never made") { REQUIRE_OK(Unstage(pool->IdForName("never made"))); }
  SECTION("attached only") { REQUIRE_OK(pool->MapDevice(id, test::kWriter)); }
  SECTION("the directory has gone") {
    REQUIRE_OK(Stage(id));
    UnmountPlainly(staging());
    std::filesystem::remove(staging());
  }
  SECTION("the record has gone") {
    REQUIRE_OK(Stage(id));
    REQUIRE_OK(stages.Remove(id.ToString()));
  }
  SECTION("the volume's record is damaged") {
    REQUIRE_OK(Stage(id));
    WriteFile(PathOf(id, "record.json"), "damaged");
  }
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(NodeFixture, "an id that is none of ours takes nothing away") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id));
  REQUIRE_OK(Stager(*pools, node_state, path_locks).Unstage("not an id of ours", staging()));
  CHECK(MountsAt(staging()) == 1);
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(NodeFixture, "what is staged elsewhere, or another volume here, is not undone") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  const VolumeId other = Create(MountSpec("pvc-2")).id;
  REQUIRE_OK(Stage(id));
  REQUIRE_OK(Unstage(other));
  REQUIRE_OK(Stager(*pools, node_state, path_locks).Unstage(id.ToString(), pods()));
  CHECK(MountsAt(staging()) == 1);
  REQUIRE_OK(stages.Find(id.ToString()));
  REQUIRE_OK(Stage(id));
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(NodeFixture, "mounts stacked on each other all go") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id));
  for (int i = 0; i < 2; ++i) {
    REQUIRE(::mount(staging().c_str(), staging().c_str(), nullptr, MS_BIND, nullptr) == 0);
  }
  CHECK(MountsAt(staging()) == 3);
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(NodeFixture, "somebody else's mount is left alone") {
  const VolumeId id = Create(MountSpec("pvc-1")).id;
  REQUIRE_OK(Stage(id));
  MountTmpfs(staging());
  CHECK_FAILS(Unstage(id), kFailedPrecondition, "which is not a volume: it is left alone");
  CHECK(MountsAt(staging()) == 2);
  UnmountPlainly(staging());
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(NodeFixture, "a volume that is published is not unstaged for good") {
  SECTION("a filesystem") {
    const VolumeId id = Create(MountSpec("pvc-1")).id;
    REQUIRE_OK(Stage(id));
    REQUIRE_OK(Publish(id, target()));
    CHECK_FAILS(Unstage(id), kFailedPrecondition, target());
    CHECK(IsAttached(id));
    CHECK(MountsAt(target()) == 1);
    CHECK(MountsAt(staging()) == 1);
    REQUIRE_OK(Unpublish(id, target()));
    REQUIRE_OK(Unstage(id));
    CheckGone(id);
  }
  SECTION("raw block") {
    const VolumeId id = Create(BlockSpec("pvc-1")).id;
    REQUIRE_OK(Stage(id, BlockUse()));
    REQUIRE_OK(Publish(id, target(), BlockUse()));
    CHECK_FAILS(Unstage(id), kFailedPrecondition, target());
    REQUIRE_OK(Unpublish(id, target()));
    REQUIRE_OK(Unstage(id));
    CheckGone(id);
  }
}

TEST_CASE_METHOD(NodeFixture, "a volume that grew while it was away is staged at its new size") {
  const auto filesystem = GENERATE(as<std::string>(), "ext4", "xfs", "btrfs");
  const Bytes size = filesystem == "ext4" ? 32 * kMiB : 300 * kMiB;
  const VolumeId id = Create(MountSpec("pvc-1", filesystem, size)).id;
  REQUIRE_OK(Stage(id));
  WriteFile(staging() + "/data", "precious");
  struct statvfs before {};
  REQUIRE(::statvfs(staging().c_str(), &before) == 0);
  REQUIRE_OK(Unstage(id));
  REQUIRE_OK(pool->Grow(id, 2 * size, 0));
  REQUIRE_OK(Stage(id));
  struct statvfs after {};
  REQUIRE(::statvfs(staging().c_str(), &after) == 0);
  CHECK(after.f_blocks * after.f_frsize > before.f_blocks * before.f_frsize * 3 / 2);
  CHECK(ReadFile(staging() + "/data") == "precious");
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(NodeFixture, "nothing is checked or grown offline while a pod has it mounted") {
  const VolumeId id = Create(MountSpec("pvc-1", "ext4", 32 * kMiB)).id;
  REQUIRE_OK(Stage(id));
  WriteFile(staging() + "/data", "precious");
  const bool read_only = GENERATE(false, true);
  REQUIRE_OK(Publish(id, target(), MountUse(), read_only));
  UnmountPlainly(staging());  // by hand; kubelet stages again when it restarts
  REQUIRE_OK(pool->Grow(id, 64 * kMiB, 0));
  REQUIRE_OK(Stage(id));
  CHECK(ReadFile(target() + "/data") == "precious");
  CHECK(ReadFile(staging() + "/data") == "precious");
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Unstage(id));
  REQUIRE_OK(Stage(id));  // now it grows
  CHECK(ReadFile(staging() + "/data") == "precious");
  REQUIRE_OK(Unstage(id));
}

}  // namespace stager_test
}  // namespace holdfast::node
