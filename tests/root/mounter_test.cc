// SPDX-License-Identifier: Apache-2.0
#include "os/mounter.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "os/mount_table.h"
#include "os/process.h"
#include "support/loop_image.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace {

using test::AttachedLoop;
using test::ImageFile;
using test::TempDirectory;

void RequireOk(const absl::Status& status) {
  INFO(status);
  REQUIRE(status.ok());
}

TargetPath MakeTarget(const std::string& path) {
  auto target = TargetPath::Open(path, "target_path");
  RequireOk(target.status());
  RequireOk(target->MakeDirectory());
  return *std::move(target);
}

MountTable ReadTable() {
  auto table = MountTable::Read();
  RequireOk(table.status());
  return *std::move(table);
}

// What is mounted at `target`; an entry with id 0 if nothing is.
MountEntry Mounted(const TargetPath& target) {
  const MountTable table = ReadTable();
  const MountEntry* const entry = table.At(target.path());
  return entry == nullptr ? MountEntry{} : *entry;
}

// Unmounts everything at the target at the end, so that a failed test leaks nothing.
class MountGuard final {
 public:
  explicit MountGuard(const TargetPath& target) : target_(target) {}
  MountGuard(const MountGuard&) = delete;
  MountGuard& operator=(const MountGuard&) = delete;
  ~MountGuard() {
    while (::umount2(target_.path().c_str(), UMOUNT_NOFOLLOW) == 0) continue;
  }

 private:
  const TargetPath& target_;
};

// A filesystem on a loop device that is not mounted.
struct FormattedDevice {
  explicit FormattedDevice(const std::string& filesystem, const LoopOptions& options = {})
      : image(directory.path("image"), filesystem == "xfs" ? 300 * kMiB : 128 * kMiB),
        type(filesystem) {
    RequireOk(RunCommandOrFail({"mkfs." + filesystem, "-q", image.path()}, std::chrono::minutes(1)));
    loop.emplace(image.fd(), options);
  }
  [[nodiscard]] DeviceMount Mount() const { return {.device = path(), .filesystem = type}; }
  [[nodiscard]] std::string path() const { return (*loop)->block.path; }
  [[nodiscard]] dev_t number() const { return (*loop)->block.number; }

  TempDirectory directory;
  ImageFile image;
  std::string type;
  std::optional<AttachedLoop> loop;
};

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool CanWrite(const std::string& directory) {
  const std::string probe = directory + "/probe";
  const UniqueFd file(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) {
    CHECK(errno == EROFS);
    return false;
  }
  ::unlink(probe.c_str());
  return true;
}

// ---- filesystems

TEST_CASE("a filesystem is mounted where mountinfo says so, and unmounted") {
  const std::string type = GENERATE("ext4", "ext3", "xfs", "btrfs");
  CAPTURE(type);
  const FormattedDevice device(type);
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  DeviceMount mount = device.Mount();
  mount.flags = {"noatime", "nosuid", "rw"};
  RequireOk(MountFilesystem(mount, target));

  const MountTable table = ReadTable();
  const MountEntry* const entry = table.At(target.path());
  REQUIRE(entry != nullptr);
  CHECK(entry->filesystem == type);
  CHECK(entry->source == device.path());
  CHECK(entry->device == device.number());
  CHECK(entry->root == "/");
  CHECK_FALSE(entry->read_only);
  CHECK(Contains(entry->mount_options, "noatime"));
  CHECK(Contains(entry->mount_options, "nosuid"));
  CHECK(table.OfDevice(device.number()).size() == 1);
  CHECK(CanWrite(target.path()));
  std::filesystem::create_directory(target.path() + "/below");
  const auto behind = DeviceBehind(target.path() + "/below");
  RequireOk(behind.status());
  CHECK(*behind == device.number());

  RequireOk(Unmount(target));
  CHECK(Mounted(target).id == 0);
  RequireOk(Unmount(target));
}

TEST_CASE("a filesystem's own flags reach it") {
  const FormattedDevice device("ext4");
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  DeviceMount mount = device.Mount();
  mount.flags = {"commit=77", "noexec"};
  RequireOk(MountFilesystem(mount, target));
  CHECK(Contains(Mounted(target).filesystem_options, "commit=77"));
}

TEST_CASE("a read-only mount refuses writes") {
  const std::string type = GENERATE("ext4", "xfs", "btrfs");
  const FormattedDevice device(type);
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  DeviceMount mount = device.Mount();
  mount.read_only = true;
  mount.flags = {"rw"};
  RequireOk(MountFilesystem(mount, target));
  CHECK(Mounted(target).read_only);
  CHECK(Mounted(target).filesystem_read_only);
  CHECK_FALSE(CanWrite(target.path()));
}

TEST_CASE("a write-protected device is never mounted read-only by itself") {
  const std::string type = GENERATE("ext4", "xfs", "btrfs");
  const FormattedDevice device(type, LoopOptions{.read_only = true});
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  const absl::Status status = MountFilesystem(device.Mount(), target);
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK(Contains(MessageOf(status), "write-protected"));
  CHECK(Mounted(target).id == 0);
  DeviceMount mount = device.Mount();
  mount.read_only = true;
  RequireOk(MountFilesystem(mount, target));
}

TEST_CASE("a flag that the filesystem does not know is named, in the kernel's words") {
  const std::string type = GENERATE("ext4", "xfs", "btrfs");
  CAPTURE(type);
  const FormattedDevice device(type);
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  const std::string flag = GENERATE("nonsense", "commit=many");
  CAPTURE(flag);
  DeviceMount mount = device.Mount();
  mount.flags = {"noatime", flag};
  const absl::Status status = MountFilesystem(mount, target);
  CAPTURE(status);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(Contains(MessageOf(status), flag.substr(0, flag.find('='))));
  CHECK(Mounted(target).id == 0);
}

TEST_CASE("a mount that fails for another reason is internal and says why") {
  struct Case {
    const char* content;
    const char* type;
    const char* reason;
  };
  const Case c = GENERATE(Case{"ext4", "xfs", "wrong fs type"}, Case{"xfs", "ext4", "wrong fs type"},
                          Case{"ext4", "nosuchfs", "unknown filesystem"});
  const FormattedDevice device(c.content);
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  DeviceMount mount = device.Mount();
  mount.filesystem = c.type;
  mount.flags = {"noatime"};
  const absl::Status status = MountFilesystem(mount, target);
  CAPTURE(status);
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK(Contains(MessageOf(status), c.reason));
  CHECK(Contains(MessageOf(status), target.path()));
  CHECK_FALSE(Contains(MessageOf(status), "/proc/self"));
  CHECK(Mounted(target).id == 0);
}

TEST_CASE("a damaged superblock is reported as damage") {
  const std::string type = GENERATE("ext4", "xfs");
  const FormattedDevice device(type);
  // The free block count: covered by the checksum, and by nothing else that mount looks at first.
  const off_t place = type == "ext4" ? 1024 + 0x0c : 144;
  const UniqueFd node(::open(device.path().c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::pwrite(node.get(), "\x5a\x5a", 2, place) == 2);
  REQUIRE(::fsync(node.get()) == 0);
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  const absl::Status status = MountFilesystem(device.Mount(), target);
  CAPTURE(status);
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK(Contains(MessageOf(status), "damaged"));
}

TEST_CASE("a device that is mounted in another way says so") {
  const FormattedDevice device("ext4");
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  const TargetPath other = MakeTarget(device.directory.path("other"));
  const MountGuard other_guard(other);
  RequireOk(MountFilesystem(device.Mount(), target));
  DeviceMount mount = device.Mount();
  mount.read_only = true;
  const absl::Status status = MountFilesystem(mount, other);
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK(Contains(MessageOf(status), "another way"));
}

TEST_CASE("a regular file is no device: libmount would attach a loop of its own") {
  const FormattedDevice device("ext4");
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  DeviceMount mount = device.Mount();
  mount.device = device.image.path();
  CHECK(MountFilesystem(mount, target).code() == absl::StatusCode::kInternal);
  mount.device = device.directory.path("missing");
  CHECK(MountFilesystem(mount, target).code() == absl::StatusCode::kInternal);
}

TEST_CASE("a quoted SELinux context goes through whole") {
  const FormattedDevice device("ext4");
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  DeviceMount mount = device.Mount();
  mount.flags = {"context=\"system_u:object_r:tmp_t:s0:c1,nosuid,c2\"", "nodev"};
  const absl::Status status = MountFilesystem(mount, target);
  if (std::filesystem::exists("/sys/fs/selinux/enforce")) {
    CHECK_FALSE(status.ok());  // SELinux has read the whole text, and it is no context
    return;
  }
  RequireOk(status);
  CHECK(Contains(Mounted(target).mount_options, "nodev"));
  CHECK_FALSE(Contains(Mounted(target).mount_options, "nosuid"));
}

TEST_CASE("a mount never goes through a symbolic link") {
  const FormattedDevice device("ext4");
  const TargetPath real = MakeTarget(device.directory.path("real"));
  std::filesystem::create_symlink(real.path(), device.directory.path("link"));
  const auto link = TargetPath::Open(device.directory.path("link"), "target_path");
  RequireOk(link.status());
  CHECK(MountFilesystem(device.Mount(), *link).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(BindMount(real.path(), *link, false, {}).code() == absl::StatusCode::kFailedPrecondition);
  CHECK_FALSE(BindMount(link->path(), real, false, {}).ok());
  CHECK(Mounted(real).id == 0);
}

// ---- binds

struct TwoDirectories {
  TempDirectory directory;
  TargetPath source = MakeTarget(directory.path("source"));
  TargetPath target = MakeTarget(directory.path("target"));
  MountGuard guard{target};
};

TEST_CASE("a bind shows its source") {
  const TwoDirectories two;
  RequireOk(BindMount(two.source.path(), two.target, false, {}));
  std::ofstream(two.source.path() + "/file") << "x";
  CHECK(std::filesystem::exists(two.target.path() + "/file"));
  CHECK_FALSE(Mounted(two.target).read_only);
  CHECK(CanWrite(two.target.path()));
  RequireOk(Unmount(two.target));
  CHECK_FALSE(std::filesystem::exists(two.target.path() + "/file"));
}

TEST_CASE("a read-only bind leaves its source writable") {
  const TwoDirectories two;
  RequireOk(BindMount(two.source.path(), two.target, true, {}));
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
  for (int i = 0; (i < 200 || seen == 0) && status.ok(); ++i) {
    status = BindMount(two.source.path(), two.target, true, {});
    // The watcher's look makes the mount busy now and then.
    while (::umount2(two.target.path().c_str(), UMOUNT_NOFOLLOW) != 0 && errno == EBUSY) continue;
  }
  done = true;
  watcher.join();
  RequireOk(status);
  CHECK(seen > 0);
  CHECK(seen_writable == 0);
}

TEST_CASE("per-mount flags are added to a bind, and others ignored") {
  struct Case {
    std::vector<std::string> flags;
    const char* options;
  };
  const Case c = GENERATE(
      Case{{}, "rw,noatime"}, Case{{"nodev"}, "rw,nodev,noatime"},
      Case{{"noexec", "nosuid", "nodev"}, "rw,nosuid,nodev,noexec,noatime"},
      Case{{"relatime"}, "rw,relatime"}, Case{{"strictatime"}, "rw"},
      Case{{"strictatime", "noatime"}, "rw,noatime"}, Case{{"noatime", "relatime"}, "rw,relatime"},
      Case{{"nodiratime"}, "rw,noatime,nodiratime"},
      Case{{"discard", "commit=5", "context=\"a,b\"", "sync"}, "rw,noatime"});
  CAPTURE(c.flags);
  const TwoDirectories two;
  REQUIRE(::mount("", two.source.path().c_str(), "tmpfs", MS_NOATIME, "size=64k") == 0);
  const MountGuard source_guard(two.source);
  RequireOk(BindMount(two.source.path(), two.target, false, c.flags));
  CHECK(Mounted(two.target).mount_options == c.options);
}

TEST_CASE("what the source's mount forbids stays forbidden in a bind") {
  const TwoDirectories two;
  REQUIRE(::mount("", two.source.path().c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") == 0);
  const MountGuard source_guard(two.source);
  RequireOk(BindMount(two.source.path(), two.target, true, {"noexec"}));
  CHECK(Mounted(two.target).mount_options == "ro,nosuid,nodev,noexec,relatime");
}

TEST_CASE("a device node is bound on a file") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), 8 * kMiB);
  const AttachedLoop loop(image.fd());
  auto target = TargetPath::Open(directory.path("block"), "target_path");
  RequireOk(target.status());
  RequireOk(target->MakeFile());
  const MountGuard guard(*target);
  RequireOk(BindMount(loop->block.path, *target, false, {}));
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
  CHECK_FALSE(BindMount(two.directory.path("missing"), two.target, false, {}).ok());
  CHECK_FALSE(BindMount("/dev/null", two.target, false, {}).ok());
  const auto missing = TargetPath::Open(two.directory.path("missing"), "target_path");
  RequireOk(missing.status());
  CHECK(BindMount(two.source.path(), *missing, false, {}).code() == absl::StatusCode::kNotFound);
  CHECK(Mounted(two.target).id == 0);
}

// ---- unmounting

TEST_CASE("stacked mounts are taken away one by one, the topmost first") {
  const TwoDirectories two;
  const TargetPath second = MakeTarget(two.directory.path("second"));
  RequireOk(BindMount(two.source.path(), two.target, false, {}));
  const MountEntry first_mount = Mounted(two.target);
  RequireOk(BindMount(second.path(), two.target, true, {}));
  CHECK(Mounted(two.target).id != first_mount.id);
  CHECK(Mounted(two.target).parent_id == first_mount.id);
  RequireOk(Unmount(two.target));
  CHECK(Mounted(two.target).id == first_mount.id);
  RequireOk(Unmount(two.target));
  CHECK(Mounted(two.target).id == 0);
}

TEST_CASE("a mount that a later one hides is not taken for one that is seen") {
  const TwoDirectories two;
  const TargetPath below = MakeTarget(two.target.path() + "/below");
  const MountGuard below_guard(below);
  RequireOk(BindMount(two.source.path(), below, false, {}));
  REQUIRE(Mounted(below).id != 0);
  RequireOk(BindMount(two.source.path(), two.target, false, {}));
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
    const auto target = TargetPath::Open(directory.path(name), "target_path");
    RequireOk(target.status());
    RequireOk(Unmount(*target));
  }
  CHECK(std::filesystem::exists("/proc/self"));
}

TEST_CASE("a busy mount is left alone") {
  const FormattedDevice device("ext4");
  const TargetPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  RequireOk(MountFilesystem(device.Mount(), target));
  {
    const UniqueFd user(::open((target.path() + "/f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(user.valid());
    CHECK(Unmount(target).code() == absl::StatusCode::kFailedPrecondition);
    CHECK(Mounted(target).id != 0);
  }
  RequireOk(Unmount(target));
}

// In a name space of a new user the mounts that it inherits are locked, and umount2 answers EINVAL
// as if there were none.
TEST_CASE("a locked mount is not taken for none") {
  const TwoDirectories two;
  RequireOk(BindMount(two.source.path(), two.target, false, {}));
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
  const TargetPath source = MakeTarget(directory.path("source"));
  const TargetPath target = MakeTarget(directory.path(name));
  const MountGuard guard(target);
  RequireOk(BindMount(source.path(), target, false, {}));
  CHECK(Mounted(target).id != 0);
  RequireOk(Unmount(target));
}

}  // namespace
}  // namespace holdfast::os
