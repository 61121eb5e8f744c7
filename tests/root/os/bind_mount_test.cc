// SPDX-License-Identifier: Apache-2.0
// Bind mounts, and mounts that are stacked, hidden or locked.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "os/mount_table.h"
#include "os/mounter.h"
#include "support/loop_image.h"
#include "support/mount_point.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace bind_mount_test {

using test::AttachedLoop;
using test::CanWrite;
using test::ImageFile;
using test::MakeTarget;
using test::Mounted;
using test::MountGuard;
using test::ReadTable;
using test::RequireOk;
using test::TempDirectory;

struct TwoDirectories {
  TempDirectory directory;
  RequestPath source = MakeTarget(directory.path("source"));
  RequestPath target = MakeTarget(directory.path("target"));
  MountGuard guard{target};
};

TEST_CASE("a bind shows its source") {
  const TwoDirectories two;
  RequireOk(test::BindPath(two.source.path(), two.target, false, {}));
  std::ofstream(two.source.path() + "/file") << "x";
  CHECK(std::filesystem::exists(two.target.path() + "/file"));
  CHECK_FALSE(Mounted(two.target).read_only);
  CHECK(CanWrite(two.target.path()));
  RequireOk(Unmount(two.target));
  CHECK_FALSE(std::filesystem::exists(two.target.path() + "/file"));
}

TEST_CASE("a read-only bind leaves its source writable") {
  const TwoDirectories two;
  RequireOk(test::BindPath(two.source.path(), two.target, true, {}));
  CHECK(Mounted(two.target).read_only);
  CHECK_FALSE(Mounted(two.target).filesystem_read_only);
  CHECK_FALSE(CanWrite(two.target.path()));
  CHECK(CanWrite(two.source.path()));
}

TEST_CASE("a read-only bind is never visible read-write") {
  const TwoDirectories two;
  REQUIRE(::mount("", two.source.path().c_str(), "tmpfs", 0, "size=64k") == 0);
  const MountGuard source_guard(two.source);
  struct statvfs source {};
  REQUIRE(::statvfs(two.source.path().c_str(), &source) == 0);
  std::atomic<bool> done = false;
  std::atomic<int> seen_writable = 0;
  std::atomic<int> seen = 0;
  std::thread watcher([&] {
    while (!done) {
      struct statvfs facts {};
      if (::statvfs(two.target.path().c_str(), &facts) != 0) continue;
      if (facts.f_fsid != source.f_fsid) continue;
      ++seen;
      if ((facts.f_flag & ST_RDONLY) == 0) ++seen_writable;
    }
  });
  absl::Status status;
  for (int i = 0; (i < 600 || seen < 100) && status.ok(); ++i) {
    status = test::BindPath(two.source.path(), two.target, true, {});
    // The watcher's look makes the mount busy now and then.
    while (::umount2(two.target.path().c_str(), UMOUNT_NOFOLLOW) != 0 && errno == EBUSY) continue;
  }
  done = true;
  watcher.join();
  RequireOk(status);
  CHECK(seen_writable == 0);
}

TEST_CASE("per-mount flags are added to a bind, and others ignored") {
  struct Case {
    std::vector<std::string> flags;
    const char* options;
  };
  const Case c = GENERATE(Case{{}, "rw,noatime"}, Case{{"nodev"}, "rw,nodev,noatime"},
                          Case{{"noexec", "nosuid", "nodev"}, "rw,nosuid,nodev,noexec,noatime"},
                          Case{{"relatime"}, "rw,relatime"}, Case{{"strictatime"}, "rw"},
                          Case{{"strictatime", "noatime"}, "rw,noatime"},
                          Case{{"noatime", "relatime"}, "rw,relatime"},
                          Case{{"nodiratime"}, "rw,noatime,nodiratime"},
                          Case{{"discard", "commit=5", "context=\"a,b\"", "sync"}, "rw,noatime"});
  CAPTURE(c.flags);
  const TwoDirectories two;
  REQUIRE(::mount("", two.source.path().c_str(), "tmpfs", MS_NOATIME, "size=64k") == 0);
  const MountGuard source_guard(two.source);
  RequireOk(test::BindPath(two.source.path(), two.target, false, c.flags));
  CHECK(Mounted(two.target).mount_options == c.options);
}

TEST_CASE("what the source's mount forbids stays forbidden in a bind") {
  const TwoDirectories two;
  REQUIRE(::mount("", two.source.path().c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") == 0);
  const MountGuard source_guard(two.source);
  RequireOk(test::BindPath(two.source.path(), two.target, true, {"noexec"}));
  CHECK(Mounted(two.target).mount_options == "ro,nosuid,nodev,noexec,relatime");
}

TEST_CASE("a device node is bound on a file") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), 8 * kMiB);
  const AttachedLoop loop(image.fd());
  auto target = RequestPath::Open(directory.path("block"), "target_path");
  RequireOk(target.status());
  RequireOk(target->MakeFile());
  const MountGuard guard(*target);
  RequireOk(test::BindPath(loop->block.path, *target, false, {}));
  struct stat facts {};
  REQUIRE(::stat(target->path().c_str(), &facts) == 0);
  CHECK(S_ISBLK(facts.st_mode));
  CHECK(facts.st_rdev == loop->block.number);
  const MountTable table = ReadTable();
  const auto users = table.OfDeviceNode(fmt::format("loop{}", loop->index));
  REQUIRE(users.size() == 1);
  CHECK(users.front()->target == target->path());
  CHECK(table.OfDeviceNode("loop").empty());
  RequireOk(Unmount(*target));
  RequireOk(target->RemoveIfEmpty());
}

TEST_CASE("a bind needs a source and a target of one kind") {
  const TwoDirectories two;
  CHECK_FALSE(test::BindPath(two.directory.path("missing"), two.target, false, {}).ok());
  CHECK_FALSE(test::BindPath("/dev/null", two.target, false, {}).ok());
  const auto missing = RequestPath::Open(two.directory.path("missing"), "target_path");
  RequireOk(missing.status());
  CHECK(test::BindPath(two.source.path(), *missing, false, {}).code() ==
        absl::StatusCode::kNotFound);
  CHECK(Mounted(two.target).id == 0);
}

// ---- unmounting

TEST_CASE("stacked mounts are taken away one by one, the topmost first") {
  const TwoDirectories two;
  const RequestPath second = MakeTarget(two.directory.path("second"));
  RequireOk(test::BindPath(two.source.path(), two.target, false, {}));
  const MountEntry first_mount = Mounted(two.target);
  RequireOk(test::BindPath(second.path(), two.target, true, {}));
  CHECK(Mounted(two.target).id != first_mount.id);
  CHECK(Mounted(two.target).parent_id == first_mount.id);
  RequireOk(Unmount(two.target));
  CHECK(Mounted(two.target).id == first_mount.id);
  RequireOk(Unmount(two.target));
  CHECK(Mounted(two.target).id == 0);
}

TEST_CASE("a mount that a later one hides is not taken for one that is seen") {
  const TwoDirectories two;
  const RequestPath below = MakeTarget(two.target.path() + "/below");
  const MountGuard below_guard(below);
  RequireOk(test::BindPath(two.source.path(), below, false, {}));
  REQUIRE(Mounted(below).id != 0);
  RequireOk(test::BindPath(two.source.path(), two.target, false, {}));
  CHECK(Mounted(below).id == 0);
  RequireOk(Unmount(two.target));
  CHECK(Mounted(below).id != 0);
}

TEST_CASE("where nothing is mounted there is nothing to unmount") {
  const TempDirectory directory;
  std::filesystem::create_directory(directory.path("directory"));
  std::ofstream{directory.path("file")};
  std::filesystem::create_symlink("/proc", directory.path("link"));
  for (const char* name : {"directory", "file", "link", "missing"}) {
    CAPTURE(name);
    const auto target = RequestPath::Open(directory.path(name), "target_path");
    RequireOk(target.status());
    RequireOk(Unmount(*target));
  }
  CHECK(std::filesystem::exists("/proc/self"));
}

// In the namespace of a new user the inherited mounts are locked, and umount2 returns EINVAL as if
// there were none.
TEST_CASE("a locked mount is not taken for none") {
  const TwoDirectories two;
  RequireOk(test::BindPath(two.source.path(), two.target, false, {}));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(2);
    ::_exit(Unmount(two.target).code() == absl::StatusCode::kInternal ? 0 : 1);
  }
  int result = 0;
  REQUIRE(::waitpid(child, &result, 0) == child);
  REQUIRE(WIFEXITED(result));
  if (WEXITSTATUS(result) == 2) {
    WARN("SKIPPED: user name spaces are switched off here (sysctl user.max_user_namespaces)");
    return;
  }
  CHECK(WEXITSTATUS(result) == 0);
}

TEST_CASE("a mount without a source does not spoil the table") {
  const TwoDirectories two;
  REQUIRE(::mount("", two.target.path().c_str(), "tmpfs", 0, "size=64k") == 0);
  CHECK(Mounted(two.target).filesystem == "tmpfs");
  CHECK(Mounted(two.target).source.empty());
  CHECK(Mounted(two.target).device == 0);
}

TEST_CASE("mount points with strange names are found") {
  const TempDirectory directory;
  const std::string name = GENERATE("with space", "tab\t", "back\\slash", "hash#", "x (deleted)",
                                    "\\040", "quote\"", "comma,");
  CAPTURE(name);
  const RequestPath source = MakeTarget(directory.path("source"));
  const RequestPath target = MakeTarget(directory.path(name));
  const MountGuard guard(target);
  RequireOk(test::BindPath(source.path(), target, false, {}));
  CHECK(Mounted(target).id != 0);
  RequireOk(Unmount(target));
}

}  // namespace bind_mount_test
}  // namespace holdfast::os
