// SPDX-License-Identifier: Apache-2.0
#include "os/host_filesystem.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/volume_id.h"
#include "os/capabilities.h"
#include "os/file.h"
#include "support/loop_image.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace host_filesystem_test {

using test::MountedFilesystem;
using test::TempDirectory;

struct Kind {
  std::string type;
  std::string prefix;
  std::vector<std::string> mkfs;  // up to the UUID
};

const std::vector<Kind> kKinds = {
    {"ext4", "ext:", {"mkfs.ext4", "-q", "-U"}},
    {"ext3", "ext:", {"mkfs.ext3", "-q", "-U"}},
    {"xfs", "xfs:", {"mkfs.xfs", "-q", "-m"}},
    {"btrfs", "btrfs:", {"mkfs.btrfs", "-q", "-U"}},
};

std::vector<std::string> MkfsWithUuid(const Kind& kind, const std::string& uuid) {
  std::vector<std::string> argv = kind.mkfs;
  argv.push_back(kind.type == "xfs" ? "uuid=" + uuid : uuid);
  return argv;
}

std::string IdentityOf(const MountedFilesystem& filesystem) {
  const UniqueFd root = filesystem.Root();
  const auto identity = FilesystemIdentity(root.get());
  INFO(identity.status().ToString());
  REQUIRE(identity.ok());
  return *identity;
}

TEST_CASE("a filesystem's identity is its own and survives a remount on another device") {
  std::set<std::string> seen;
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.type);
    const std::string uuid = RandomUuid();
    MountedFilesystem first(kind.type, MkfsWithUuid(kind, uuid), 512 * kMiB);
    const std::string identity = IdentityOf(first);
    CHECK_THAT(identity, Catch::StartsWith(kind.prefix));
    if (kind.prefix != "ext:") CHECK(identity == kind.prefix + uuid);
    first.Unmount();
    first.Mount(kind.type);
    CHECK(IdentityOf(first) == identity);

    const MountedFilesystem second(kind.type, MkfsWithUuid(kind, RandomUuid()), 512 * kMiB);
    CHECK(IdentityOf(second) != identity);
    CHECK(seen.insert(identity).second);
    first.Unmount();
    if (kind.type == "btrfs") continue;  // its mkfs refuses a UUID that exists
    // The same UUID elsewhere is the same identity: it comes from the bytes, not from the device.
    const MountedFilesystem copy(kind.type, MkfsWithUuid(kind, uuid), 512 * kMiB);
    CHECK(IdentityOf(copy) == identity);
  }
}

TEST_CASE("a filesystem without an identity is known by its type") {
  const TempDirectory directory;
  REQUIRE(::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=1m,nr_inodes=16") == 0);
  {
    const auto root = OpenDirectory(directory.path());
    REQUIRE(root.ok());
    CHECK(*FilesystemIdentity(root->get()) == "tmpfs");
    const auto space = MeasureFilesystem(root->get());
    REQUIRE(space.ok());
    CHECK(space->total == kMiB);
    CHECK(space->used == 0);
    CHECK(space->inodes_total == 16);
    CHECK(space->inodes_used == 1);
    CHECK(space->inodes_available == 15);
  }
  REQUIRE(::umount2(directory.path().c_str(), 0) == 0);
  CHECK(FilesystemIdentity(-1).status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("space is measured, also read-only") {
  const MountedFilesystem filesystem("ext4", {"mkfs.ext4", "-q", "-m", "5"}, 256 * kMiB);
  const UniqueFd root = filesystem.Root();
  const auto before = MeasureFilesystem(root.get());
  REQUIRE(before.ok());
  CHECK(before->total > 200 * kMiB);
  CHECK(before->total <= 256 * kMiB);
  CHECK(before->used + before->available < before->total);  // the reserve is available to no user
  CHECK_FALSE(before->read_only);

  const UniqueFd file(::openat(root.get(), "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::fallocate(file.get(), 0, 0, 10 * kMiB) == 0);
  const auto after = MeasureFilesystem(file.get());
  CHECK(after->used >= before->used + 10 * kMiB);
  CHECK(after->available <= before->available - 10 * kMiB);
  CHECK(after->inodes_used == before->inodes_used + 1);
  CHECK(after->inodes_available == before->inodes_available - 1);
  CHECK(after->inodes_total == before->inodes_total);
}

TEST_CASE("a read-only mount is measured as such") {
  const MountedFilesystem filesystem("ext4", {"mkfs.ext4", "-q"}, 64 * kMiB);
  const std::string path = filesystem.path();
  REQUIRE(::mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0);
  const UniqueFd root = filesystem.Root();
  CHECK(MeasureFilesystem(root.get())->read_only);
}

TEST_CASE("btrfs counts no inodes") {
  const MountedFilesystem filesystem("btrfs", {"mkfs.btrfs", "-q"}, 256 * kMiB);
  const UniqueFd root = filesystem.Root();
  CHECK(MeasureFilesystem(root.get())->inodes_total == 0);
  CHECK(MeasureFilesystem(root.get())->inodes_used == 0);
}

TEST_CASE("direct I/O is offered in the unit of the device below, and the loop driver agrees") {
  for (const std::string type : {"ext4", "xfs", "btrfs"}) {
    for (const std::uint32_t device_sector : {512U, 4096U}) {
      CAPTURE(type, device_sector);
      const MountedFilesystem host(type, {"mkfs." + type, "-q"}, 512 * kMiB,
                                   {.sector_size = device_sector});
      const UniqueFd root = host.Root();
      const auto support = ProbeDirectIo(root.get());
      INFO(support.status().ToString());
      REQUIRE(support.ok());
      CHECK(support->direct_io);
      // btrfs does direct I/O in its own unit of 4096 bytes and the rest by itself.
      if (type != "btrfs") CHECK(support->sector_size == device_sector);
      CHECK(ListDirectory(root.get())->size() == (type == "ext4" ? 1 : 0));  // lost+found

      const test::ImageFile image(host.path() + "/image", 64 * kMiB);
      const test::AttachedLoop loop(
          image.fd(), {.sector_size = support->sector_size, .direct_io = support->direct_io});
      CHECK(loop->direct_io);
    }
  }
}

TEST_CASE("this test may mount, so it has CAP_SYS_ADMIN") { CHECK(HasCapSysAdmin()); }

}  // namespace host_filesystem_test
}  // namespace holdfast::os
