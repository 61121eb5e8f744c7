// SPDX-License-Identifier: Apache-2.0
#include "file/pool_directory.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "core/volume_id.h"
#include "os/file.h"
#include "support/loop_image.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::file {
namespace pool_directory_test {

namespace stdfs = std::filesystem;

int ModeOf(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<int>(facts.st_mode & 07777) : -1;
}

// Names and modes of everything below a directory, and its own mode.
std::set<std::string> Snapshot(const std::string& path) {
  std::set<std::string> entries = {fmt::format(". {:o}", ModeOf(path))};
  for (const auto& entry : stdfs::recursive_directory_iterator(path)) {
    entries.insert(fmt::format("{} {:o}", entry.path().string(), ModeOf(entry.path())));
  }
  return entries;
}

struct Fixture {
  Fixture() {
    for (const char* name : {"state", "state2", "pool", "other"}) {
      stdfs::create_directory(directory.path(name));
    }
  }
  absl::StatusOr<PoolDirectory> Open(const std::string& path, const std::string& name = "default",
                                     const std::string& state = "state",
                                     bool accept_move = false) const {
    const auto fd = test::Value(os::OpenDirectory(directory.path(state)));
    return PoolDirectory::Open({.name = name, .path = path, .accept_move = accept_move}, fd.get());
  }
  std::string IdForName(const std::string& path, const std::string& name = "default") const {
    return test::Value(Open(path, name)).pool_id();
  }
  std::string pool() const { return directory.path("pool"); }
  std::string other() const { return directory.path("other"); }
  std::string marker() const { return pool() + "/holdfast-pool.json"; }
  void Copy(const std::string& from, const std::string& to) const {
    stdfs::copy_file(from, to, stdfs::copy_options::overwrite_existing);
  }

  test::TempDirectory directory;
};

TEST_CASE_METHOD(Fixture, "first use makes a pool of an empty directory, for its owner alone") {
  REQUIRE(::chmod(pool().c_str(), 0755) == 0);
  const PoolDirectory opened = test::Value(Open(pool()));
  CHECK(IsUuid(opened.pool_id()));
  CHECK(opened.path() == pool());
  CHECK(ModeOf(pool()) == 0700);
  CHECK(ModeOf(marker()) == 0600);
  CHECK(ModeOf(pool() + "/volumes") == 0700);
  CHECK(ModeOf(pool() + "/trash") == 0700);
  REQUIRE_OK(opened.Verify());
}

TEST_CASE_METHOD(Fixture, "a pool stays the same pool") {
  const std::string id = IdForName(pool());
  CHECK(IdForName(pool()) == id);
  CHECK(IdForName(other(), "second") != id);
}

TEST_CASE_METHOD(Fixture, "a pool is taken over by a state directory that knows none of its name") {
  const std::string id = IdForName(pool());
  CHECK(test::Value(Open(pool(), "default", "state2")).pool_id() == id);
  CHECK_FAILS(Open(other(), "default", "state2"), kFailedPrecondition, id);
}

TEST_CASE_METHOD(Fixture, "a directory with anything else in it is refused and stays as it is") {
  REQUIRE(::chmod(pool().c_str(), 0755) == 0);
  SECTION("a file") { stdfs::copy_file("/etc/hostname", pool() + "/notes"); }
  SECTION("a hidden directory") { stdfs::create_directory(pool() + "/.snapshot"); }
  SECTION("the remains of a pool without its marker") {
    stdfs::create_directory(pool() + "/volumes");
  }
  const auto before = Snapshot(pool());
  CHECK_FAILS(Open(pool()), kFailedPrecondition, "has no pool marker and is not empty");
  CHECK(Snapshot(pool()) == before);
  CHECK(stdfs::is_empty(directory.path("state/pools")));
}

TEST_CASE_METHOD(Fixture, "a first start that died early, and lost+found, are no obstacle") {
  stdfs::create_directory(pool() + "/lost+found");
  REQUIRE_OK(os::LockFileAt(test::Value(os::OpenDirectory(pool())).get(), "lock"));
  std::ofstream(pool() + "/holdfast-pool.json.tmp") << "{";
  CHECK(IsUuid(IdForName(pool())));
}

TEST_CASE_METHOD(Fixture, "a missing directory is not made") {
  CHECK_FAILS(Open(directory.path("none")), kFailedPrecondition, "make the directory, or mount");
  CHECK_FALSE(stdfs::exists(directory.path("none")));
}

TEST_CASE_METHOD(Fixture, "a known pool without its marker is refused, empty or not") {
  const std::string id = IdForName(pool());
  SECTION("the disk is not mounted: an empty directory") {
    stdfs::remove_all(pool());
    stdfs::create_directory(pool());
  }
  SECTION("the marker alone has gone") { stdfs::remove(marker()); }
  const auto before = Snapshot(pool());
  CHECK_FAILS(Open(pool()), kFailedPrecondition, "is its disk mounted?");
  CHECK_FAILS(Open(pool()), kFailedPrecondition, id);
  CHECK(Snapshot(pool()) == before);
}

TEST_CASE_METHOD(Fixture, "another pool's disk at the path is refused") {
  const std::string first = IdForName(pool(), "first");
  const std::string second = IdForName(other(), "second");
  CHECK_FAILS(Open(other(), "first"), kFailedPrecondition, "wrong disk?");
  CHECK_FAILS(Open(pool(), "second"), kFailedPrecondition, first);
  CHECK(IdForName(other(), "second") == second);
}

TEST_CASE_METHOD(Fixture, "a pool that was copied to another filesystem is refused") {
  const std::string id = IdForName(pool());
  const test::MountedFilesystem disk("ext4", {"mkfs.ext4", "-q"}, 16 * kMiB);
  Copy(marker(), disk.path() + "/holdfast-pool.json");
  CHECK_FAILS(Open(disk.path()), kFailedPrecondition, "was written on filesystem");
  CHECK_FALSE(stdfs::exists(disk.path() + "/volumes"));
  // Taken over on purpose, once; from then on it is at home there.
  CHECK(test::Value(Open(disk.path(), "default", "state", true)).pool_id() == id);
  CHECK(IdForName(disk.path()) == id);
}

TEST_CASE_METHOD(Fixture, "a damaged marker is neither believed nor replaced") {
  (void)IdForName(pool());
  Copy("/etc/hostname", marker());
  const auto before = Snapshot(pool());
  CHECK_FAILS(Open(pool()), kInternal, "pool marker is damaged");
  CHECK_FAILS(Open(pool(), "default", "state2"), kInternal, "pool marker is damaged");
  CHECK(Snapshot(pool()) == before);
}

TEST_CASE_METHOD(Fixture, "a pool has one server at a time") {
  {
    const PoolDirectory first = test::Value(Open(pool()));
    CHECK_FAILS(Open(pool()), kAborted, "another process");
    CHECK_FAILS(Open(pool(), "alias", "state2"), kAborted, "another process");
    REQUIRE_OK(first.Verify());
  }
  REQUIRE_OK(Open(pool()));
}

TEST_CASE_METHOD(Fixture, "a pool that changes under its path is noticed") {
  const PoolDirectory opened = test::Value(Open(pool()));
  SECTION("the marker goes") { stdfs::remove(marker()); }
  SECTION("the marker becomes another pool's") {
    (void)IdForName(other(), "second");
    Copy(other() + "/holdfast-pool.json", marker());
  }
  SECTION("the marker changes in its place") { std::ofstream(marker(), std::ios::app) << " "; }
  SECTION("its directory of volumes becomes another one") {
    stdfs::rename(pool() + "/volumes", pool() + "/away");
    stdfs::create_directory(pool() + "/volumes");
  }
  SECTION("its trash goes") { stdfs::remove(pool() + "/trash"); }
  SECTION("the directory goes") { stdfs::rename(pool(), directory.path("away")); }
  CHECK_FAILS(opened.Verify(), kFailedPrecondition, "is not the one that was opened");
}

TEST_CASE_METHOD(Fixture, "a marker restored from a copy is as good") {
  const PoolDirectory opened = test::Value(Open(pool()));
  Copy(marker(), directory.path("copy"));
  stdfs::remove(marker());
  CHECK_FAILS(opened.Verify(), kFailedPrecondition, "is not the one that was opened");
  Copy(directory.path("copy"), marker());
  REQUIRE_OK(opened.Verify());
}

TEST_CASE_METHOD(Fixture, "a pool whose disk goes and comes back is itself again") {
  const PoolDirectory opened = test::Value(Open(pool()));
  REQUIRE(::mount("", pool().c_str(), "tmpfs", 0, "size=64k") == 0);
  CHECK_FAILS(opened.Verify(), kFailedPrecondition, "is not the one that was opened");
  REQUIRE(::umount2(pool().c_str(), UMOUNT_NOFOLLOW) == 0);
  REQUIRE_OK(opened.Verify());
}

}  // namespace pool_directory_test
}  // namespace holdfast::file
