// SPDX-License-Identifier: Apache-2.0
#include "node/publisher.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "os/block_device.h"
#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace publisher_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;
using test::BlockUse;
using test::MountSpec;
using test::MountUse;
using test::NodeFixture;

constexpr auto kWriter = AccessMode::kSingleNodeWriter;
constexpr auto kAlone = AccessMode::kSingleNodeSingleWriter;
constexpr auto kMany = AccessMode::kSingleNodeMultiWriter;
constexpr auto kReader = AccessMode::kSingleNodeReaderOnly;

// A filesystem volume, staged.
struct Mounted : NodeFixture {
  Mounted() { REQUIRE_OK(Stage(id)); }
  ~Mounted() { (void)Unstage(id); }
  const VolumeId id = Create(MountSpec("pvc-1")).id;
};

// A raw block volume, staged.
struct Block : NodeFixture {
  Block() { REQUIRE_OK(Stage(id, BlockUse())); }
  ~Block() { (void)Unstage(id); }
  os::BlockDevice Device() const { return *test::Value(pool->FindDevice(id)); }
  const VolumeId id = Create(BlockSpec("pvc-1")).id;
};

bool CanWrite(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.valid() && ::pwrite(file.get(), "x", 1, 0) == 1 && ::fsync(file.get()) == 0;
}

TEST_CASE_METHOD(Mounted, "a published volume is the staged one") {
  WriteFile(staging() + "/data", "precious");
  REQUIRE_OK(Publish(id, target()));
  CHECK(ReadFile(target() + "/data") == "precious");
  WriteFile(target() + "/more", "from the pod");
  CHECK(ReadFile(staging() + "/more") == "from the pod");
  REQUIRE_OK(Unpublish(id, target()));
  CHECK_FALSE(Exists(target()));
  CHECK(ReadFile(staging() + "/data") == "precious");
}

TEST_CASE_METHOD(Mounted,
                 "publishing again stacks nothing, also after a restart or a lost record") {
  const bool read_only = GENERATE(false, true);
  REQUIRE_OK(Publish(id, target(), MountUse(), read_only));
  const os::MountEntry before = MountAt(target());
  REQUIRE_OK(Publish(id, target(), MountUse(), read_only));
  Restart();
  REQUIRE_OK(Publish(id, target(), MountUse(), read_only));
  REQUIRE_OK(stages.Remove(id.ToString()));
  REQUIRE_OK(Publish(id, target(), MountUse(), read_only));
  CHECK(MountsAt(target()) == 1);
  CHECK(MountAt(target()).id == before.id);
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Unpublish(id, target()));
}

TEST_CASE_METHOD(Mounted, "a read-only publication refuses writes, the others do not") {
  WriteFile(staging() + "/data", "precious");
  REQUIRE_OK(Publish(id, target("ro"), MountUse(), true));
  REQUIRE_OK(Publish(id, target("rw"), MountUse()));
  CHECK(MountAt(target("ro")).read_only);
  CHECK_FALSE(CanWrite(target("ro") + "/data"));
  CHECK(CanWrite(target("rw") + "/data"));
  REQUIRE_OK(Unpublish(id, target("ro")));
  REQUIRE_OK(Unpublish(id, target("rw")));
}

TEST_CASE_METHOD(Mounted, "flags of one mount are that mount's alone") {
  REQUIRE_OK(Publish(id, target(), MountUse(kMany, {"noexec"})));
  CHECK_THAT(MountAt(target()).mount_options, Catch::Contains("noexec"));
  CHECK_THAT(MountAt(staging()).mount_options, !Catch::Contains("noexec"));
  REQUIRE_OK(Unpublish(id, target()));
}

TEST_CASE_METHOD(Mounted, "published in another way is not published as asked") {
  REQUIRE_OK(Publish(id, target()));
  CHECK_FAILS(Publish(id, target(), MountUse(), true), kAlreadyExists, "readonly");
  CHECK_FAILS(Publish(id, target(), MountUse(kAlone)), kAlreadyExists, "access mode");
  CHECK_FAILS(Publish(id, target(), MountUse(kMany, {"noexec"})), kAlreadyExists, "flags");
  CHECK(MountsAt(target()) == 1);
  REQUIRE_OK(Unpublish(id, target()));
}

TEST_CASE_METHOD(Mounted, "a second publication only where both modes allow it") {
  const struct {
    AccessMode first, second;
    bool allowed;
  } rows[] = {
      {kMany, kMany, true},    {kMany, kAlone, false},    {kAlone, kMany, false},
      {kAlone, kAlone, false}, {kWriter, kWriter, false}, {kReader, kReader, false},
  };
  for (const auto& row : rows) {
    CAPTURE(ToString(row.first), ToString(row.second));
    REQUIRE_OK(Publish(id, target("a"), MountUse(row.first)));
    const absl::Status second = Publish(id, target("b"), MountUse(row.second));
    CHECK(second.ok() == row.allowed);
    if (!row.allowed) {
      CHECK_FAILS(second, kFailedPrecondition, "already published at '" + target("a") + "'");
      CHECK_FALSE(Exists(target("b")));
    }
    REQUIRE_OK(Unpublish(id, target("a")));
    REQUIRE_OK(Publish(id, target("b"), MountUse(row.second)));  // alone now, or there already
    REQUIRE_OK(Unpublish(id, target("b")));
  }
}

TEST_CASE_METHOD(Mounted, "a publication whose mount has gone no longer counts") {
  REQUIRE_OK(Publish(id, target("a"), MountUse(kAlone)));
  UnmountPlainly(target("a"));
  REQUIRE_OK(Publish(id, target("b"), MountUse(kAlone)));
  REQUIRE_OK(Unpublish(id, target("a")));
  REQUIRE_OK(Unpublish(id, target("b")));
}

TEST_CASE_METHOD(Mounted, "what cannot be published leaves nothing behind") {
  SECTION("no parent directory") {
    CHECK_FAILS(Publish(id, pods() + "/none/a"), kFailedPrecondition, "none");
  }
  SECTION("another use") {
    CHECK_FAILS(Publish(id, target(), BlockUse()), kFailedPrecondition, "is a mount volume");
  }
  SECTION("never made") {
    CHECK_FAILS(Publish(pool->IdForName("never made"), target()), kNotFound, "");
  }
  SECTION("not staged") {
    REQUIRE_OK(Unstage(id));
    CHECK_FAILS(Publish(id, target()), kFailedPrecondition, "is not staged at");
  }
  SECTION("attached, but not mounted") {
    UnmountPlainly(staging());
    CHECK_FAILS(Publish(id, target()), kFailedPrecondition, "is not staged at");
  }
  SECTION("something else at the staging path") {
    MountTmpfs(staging());
    CHECK_FAILS(Publish(id, target()), kFailedPrecondition, "is not staged at");
    UnmountPlainly(staging());
  }
  SECTION("the record cannot be written") {
    const std::string record = directory.path("state/stages/" + id.ToString() + ".json");
    stdfs::remove(record);
    stdfs::create_directories(record + "/x");
    CHECK_FAILS(Publish(id, target()), kInternal, "json");
    stdfs::remove_all(record);
  }
  CHECK_FALSE(Exists(target()));
}

TEST_CASE_METHOD(Mounted, "what stands at the target is never taken over") {
  SECTION("somebody else's mount") {
    stdfs::create_directory(target());
    MountTmpfs(target());
    CHECK_FAILS(Publish(id, target()), kAlreadyExists, "tmpfs");
    CHECK(MountAt(target()).filesystem == "tmpfs");
    CHECK_FAILS(Unpublish(id, target()), kFailedPrecondition, "is not a volume: it is left alone");
    UnmountPlainly(target());
  }
  SECTION("a file") {
    WriteFile(target(), "mine");
    CHECK_FAILS(Publish(id, target()), kFailedPrecondition, "should be a directory");
    CHECK_FAILS(Unpublish(id, target()), kFailedPrecondition, "not ours to delete");
    CHECK(ReadFile(target()) == "mine");
  }
  SECTION("a symbolic link") {
    stdfs::create_directory(pods() + "/real");
    stdfs::create_symlink(pods() + "/real", target());
    CHECK_FALSE(Publish(id, target()).ok());
    CHECK_FALSE(Unpublish(id, target()).ok());
    CHECK(MountsAt(pods() + "/real") == 0);
    CHECK(stdfs::is_symlink(target()));
  }
  SECTION("a directory with content, after the unmount") {
    stdfs::create_directory(target());
    WriteFile(target() + "/mine", "mine");
    REQUIRE_OK(Publish(id, target()));
    CHECK_FAILS(Unpublish(id, target()), kFailedPrecondition, "not ours to delete");
    CHECK(MountsAt(target()) == 0);
    CHECK(ReadFile(target() + "/mine") == "mine");
  }
}

TEST_CASE_METHOD(Mounted, "unpublishing needs only the mount table") {
  SECTION("never published") {}
  SECTION("no parent directory") { REQUIRE_OK(Unpublish(id, pods() + "/none/a")); }
  SECTION("an empty directory is left from before") { stdfs::create_directory(target()); }
  SECTION("the record has gone") {
    REQUIRE_OK(Publish(id, target()));
    REQUIRE_OK(stages.Remove(id.ToString()));
  }
  SECTION("stacked") {
    REQUIRE_OK(Publish(id, target()));
    for (int i = 0; i < 3; ++i) {
      REQUIRE(::mount(staging().c_str(), target().c_str(), nullptr, MS_BIND, nullptr) == 0);
    }
    CHECK(MountsAt(target()) == 4);
  }
  SECTION("another volume id") {
    REQUIRE_OK(Publish(id, target()));
    REQUIRE_OK(Publisher(*pools, stages, path_locks).Unpublish("whatever", target()));
    CHECK(MountsAt(target()) == 1);
  }
  SECTION("the volume's record is damaged") {
    REQUIRE_OK(Publish(id, target()));
    WriteFile(PathOf(id, "record.json"), "damaged");
  }
  REQUIRE_OK(Unpublish(id, target()));
  CHECK_FALSE(Exists(target()));
  CHECK(MountsAt(target()) == 0);
}

TEST_CASE_METHOD(Mounted, "a target that is in use is left mounted") {
  REQUIRE_OK(Publish(id, target()));
  {
    const os::UniqueFd user(::open(target().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CHECK_FAILS(Unpublish(id, target()), kFailedPrecondition, "busy");
    CHECK(MountsAt(target()) == 1);
  }
  REQUIRE_OK(Unpublish(id, target()));
}

TEST_CASE_METHOD(Block, "a published raw block volume is its device at full size") {
  REQUIRE_OK(Publish(id, target(), BlockUse()));
  REQUIRE_OK(Publish(id, target(), BlockUse()));
  CHECK(MountsAt(target()) == 1);
  struct stat facts {};
  REQUIRE(::stat(target().c_str(), &facts) == 0);
  CHECK(S_ISBLK(facts.st_mode));
  CHECK(facts.st_rdev == Device().number);
  CHECK(test::Value(os::InspectBlockDevice(target())).size == kMiB);
  CHECK(CanWrite(target()));
  REQUIRE_OK(Unpublish(id, target()));
  CHECK_FALSE(Exists(target()));
  CHECK(ReadFile(ImageOf(id))[0] == 'x');
}

TEST_CASE_METHOD(Block, "a read-only raw block volume refuses writes itself") {
  const bool by_mode = GENERATE(false, true);
  const VolumeUse use = BlockUse(by_mode ? kReader : kMany);
  REQUIRE_OK(Publish(id, target(), use, !by_mode));
  REQUIRE_OK(Publish(id, target(), use, !by_mode));
  CHECK(Device().read_only);
  CHECK_FALSE(CanWrite(target()));
  CHECK_FALSE(CanWrite(Device().path));
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Publish(id, target(), BlockUse()));
  CHECK_FALSE(Device().read_only);
  CHECK(CanWrite(target()));
  REQUIRE_OK(Unpublish(id, target()));
}

TEST_CASE_METHOD(Block, "a raw block volume is read-only everywhere or nowhere") {
  const bool first = GENERATE(false, true);
  REQUIRE_OK(Publish(id, target("a"), BlockUse(), first));
  CHECK_FAILS(Publish(id, target("b"), BlockUse(), !first), kFailedPrecondition,
              "is one or the other");
  CHECK(Device().read_only == first);
  CHECK_FALSE(Exists(target("b")));
  REQUIRE_OK(Publish(id, target("b"), BlockUse(), first));
  REQUIRE_OK(Unpublish(id, target("a")));
  REQUIRE_OK(Unpublish(id, target("b")));
}

TEST_CASE_METHOD(Block, "a publication that a kill kept from being recorded counts") {
  const bool first = GENERATE(false, true);
  REQUIRE_OK(Publish(id, target("a"), BlockUse(), first));
  state::StageRecord killed = test::Value(stages.Find(id.ToString()));
  killed.publications.clear();
  REQUIRE_OK(stages.Write(killed));
  SECTION("also while it is not repeated") {
    CHECK_FAILS(Publish(id, target("b"), BlockUse(), !first), kFailedPrecondition,
                "is one or the other");
    CHECK(Device().read_only == first);
  }
  SECTION("and is recorded when it is repeated") {
    REQUIRE_OK(Publish(id, target("a"), BlockUse(), first));
    CHECK(MountsAt(target("a")) == 1);
    const state::StageRecord record = test::Value(stages.Find(id.ToString()));
    REQUIRE(record.publications.contains(target("a")));
    CHECK(record.publications.at(target("a")).read_only == first);
  }
  REQUIRE_OK(Unpublish(id, target("a")));
}

TEST_CASE_METHOD(Block, "a number that was read-only is writable for its next image") {
  REQUIRE_OK(Publish(id, target(), BlockUse(), true));
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Unstage(id));
  REQUIRE_OK(Stage(id, BlockUse()));
  CHECK_FALSE(Device().read_only);
}

TEST_CASE_METHOD(Block, "a raw block target that is no bind of ours is left alone") {
  SECTION("a directory") {
    stdfs::create_directory(target());
    CHECK_FAILS(Publish(id, target(), BlockUse()), kFailedPrecondition, "should be a");
  }
  SECTION("a file with content") {
    WriteFile(target(), "mine");
    REQUIRE_OK(Publish(id, target(), BlockUse()));
    CHECK_FAILS(Unpublish(id, target()), kFailedPrecondition, "not ours to delete");
    CHECK(ReadFile(target()) == "mine");
  }
  SECTION("another volume's device") {
    const VolumeId other = Create(BlockSpec("pvc-2")).id;
    REQUIRE_OK(StageAt(other, staging(), BlockUse()));
    REQUIRE_OK(Publish(other, target(), BlockUse()));
    CHECK_FAILS(Publish(id, target(), BlockUse()), kAlreadyExists, "is mounted at");
    REQUIRE_OK(Unpublish(other, target()));
    REQUIRE_OK(Unstage(other));
  }
}

}  // namespace publisher_test
}  // namespace holdfast::node
