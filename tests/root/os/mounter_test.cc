// SPDX-License-Identifier: Apache-2.0
#include "os/mounter.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "os/descriptor_gates.h"
#include "os/mount_table.h"
#include "os/process.h"
#include "support/loop_image.h"
#include "support/mount_point.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace mounter_test {

using test::AttachedLoop;
using test::CanWrite;
using test::ImageFile;
using test::MakeTarget;
using test::Mounted;
using test::MountGuard;
using test::ReadTable;
using test::RequireOk;
using test::TempDirectory;

// A filesystem on a loop device that is not mounted.
struct FormattedDevice {
  explicit FormattedDevice(const std::string& filesystem, const LoopOptions& options = {})
      : image(directory.path("image"), filesystem == "xfs" ? 300 * kMiB : 128 * kMiB),
        type(filesystem) {
    RequireOk(
        RunCommandOrFail({"mkfs." + filesystem, "-q", image.path()}, std::chrono::minutes(1)));
    loop.emplace(image.fd(), options);
  }
  [[nodiscard]] DeviceMount Mount() const {
    return {.device = path(), .filesystem = type, .read_only = false, .flags = {}};
  }
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

TEST_CASE("a filesystem is mounted where mountinfo says so, and unmounted") {
  const std::string type = GENERATE("ext4", "ext3", "xfs", "btrfs");
  CAPTURE(type);
  const FormattedDevice device(type);
  const RequestPath target = MakeTarget(device.directory.path("mount"));
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
  const RequestPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  DeviceMount mount = device.Mount();
  mount.flags = {"commit=77", "noexec"};
  RequireOk(MountFilesystem(mount, target));
  CHECK(Contains(Mounted(target).filesystem_options, "commit=77"));
}

TEST_CASE("a read-only mount refuses writes") {
  const std::string type = GENERATE("ext4", "xfs", "btrfs");
  const FormattedDevice device(type);
  const RequestPath target = MakeTarget(device.directory.path("mount"));
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
  const RequestPath target = MakeTarget(device.directory.path("mount"));
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
  const RequestPath target = MakeTarget(device.directory.path("mount"));
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
  const Case c =
      GENERATE(Case{"ext4", "xfs", "wrong fs type"}, Case{"xfs", "ext4", "wrong fs type"},
               Case{"ext4", "nosuchfs", "unknown filesystem"});
  const FormattedDevice device(c.content);
  const RequestPath target = MakeTarget(device.directory.path("mount"));
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
  const RequestPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  const absl::Status status = MountFilesystem(device.Mount(), target);
  CAPTURE(status);
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK(Contains(MessageOf(status), "damaged"));
}

TEST_CASE("a device that is mounted in another way says so") {
  const FormattedDevice device("ext4");
  const RequestPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  const RequestPath other = MakeTarget(device.directory.path("other"));
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
  const RequestPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  DeviceMount mount = device.Mount();
  mount.device = device.image.path();
  CHECK(MountFilesystem(mount, target).code() == absl::StatusCode::kInternal);
  mount.device = device.directory.path("missing");
  CHECK(MountFilesystem(mount, target).code() == absl::StatusCode::kInternal);
}

TEST_CASE("a quoted SELinux context goes through whole") {
  const FormattedDevice device("ext4");
  const RequestPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  DeviceMount mount = device.Mount();
  mount.flags = {"context=\"system_u:object_r:tmp_t:s0:c1,nosuid,c2\"", "nodev"};
  const absl::Status status = MountFilesystem(mount, target);
  if (std::filesystem::exists("/sys/fs/selinux/enforce")) {
    CHECK_FALSE(status.ok());  // SELinux has read the whole text, and it is not a context
    return;
  }
  RequireOk(status);
  CHECK(Contains(Mounted(target).mount_options, "nodev"));
  CHECK_FALSE(Contains(Mounted(target).mount_options, "nosuid"));
}

TEST_CASE("a mount never goes through a symbolic link") {
  const FormattedDevice device("ext4");
  const RequestPath real = MakeTarget(device.directory.path("real"));
  const MountGuard guard(real);
  std::filesystem::create_symlink(real.path(), device.directory.path("link"));
  const auto link = RequestPath::Open(device.directory.path("link"), "target_path");
  RequireOk(link.status());
  CHECK(MountFilesystem(device.Mount(), *link).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(test::BindPath(real.path(), *link, false, {}).code() ==
        absl::StatusCode::kFailedPrecondition);
  CHECK_FALSE(test::BindPath(link->path(), real, false, {}).ok());
  CHECK(Mounted(real).id == 0);
}

TEST_CASE("a busy mount is left alone") {
  const FormattedDevice device("ext4");
  const RequestPath target = MakeTarget(device.directory.path("mount"));
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

// "S" while it waits, "" when it has ended.
std::string StateOfThread(pid_t thread) {
  std::ifstream file(fmt::format("/proc/self/task/{}/stat", thread));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = text.rfind(") ");
  return name_end == std::string::npos ? "" : text.substr(name_end + 2, 1);
}

TEST_CASE("a mount that a starting child still has a descriptor on is not busy for long") {
  const FormattedDevice device("ext4");
  const RequestPath target = MakeTarget(device.directory.path("mount"));
  const MountGuard guard(target);
  RequireOk(MountFilesystem(device.Mount(), target));
  absl::Status unmounted;
  std::atomic<pid_t> thread = 0;
  std::jthread caller;
  {
    // As between the copy of the descriptors and the child's program.
    const auto starting = HoldBackClaims();
    const UniqueFd copy(::open(target.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(copy.valid());
    caller = std::jthread([&] {
      thread = ::gettid();
      unmounted = Unmount(target);
    });
    while (thread == 0) std::this_thread::yield();
    while (StateOfThread(thread) != "S" && !StateOfThread(thread).empty()) {
      std::this_thread::yield();
    }
  }
  caller.join();
  RequireOk(unmounted);
  CHECK(Mounted(target).id == 0);
}

}  // namespace mounter_test
}  // namespace holdfast::os
