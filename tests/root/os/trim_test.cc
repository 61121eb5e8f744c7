// SPDX-License-Identifier: Apache-2.0
#include "os/trim.h"

#include <sys/mount.h>

#include <catch2/catch.hpp>
#include <string>

#include "support/loop_image.h"
#include "support/outcome.h"

namespace holdfast::os {
namespace trim_test {

constexpr Bytes kSize = 64 * kMiB;
const std::vector<std::string> kMkfs = {"mkfs.ext4", "-q", "-F", "-E", "nodiscard"};

TEST_CASE("the free space of a range is counted, and nothing is behind the end") {
  const test::MountedFilesystem filesystem("ext4", kMkfs, kSize);
  const UniqueFd root = filesystem.Root();
  const Bytes half = test::Value(TrimFreeSpace(root.get(), 0, kSize / 2));
  CHECK(half > 16 * kMiB);
  CHECK(half < kSize / 2);
  CHECK_FAILS(TrimFreeSpace(root.get(), kSize, 2 * kSize), kOutOfRange, "nothing to trim");
  CHECK_FAILS(TrimFreeSpace(root.get(), 0, 100), kOutOfRange, "nothing to trim");
}

TEST_CASE("a device that takes no discards cannot be trimmed") {
  const test::MountedFilesystem filesystem("ext4", kMkfs, kSize, {.discard = false});
  const UniqueFd root = filesystem.Root();
  CHECK_FAILS(TrimFreeSpace(root.get(), 0, kSize), kUnimplemented, "cannot be trimmed");
}

TEST_CASE("a filesystem without a device cannot be trimmed") {
  const test::TempDirectory directory;
  REQUIRE(::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=64k") == 0);
  {
    const UniqueFd root = test::Value(OpenDirectory(directory.path()));
    CHECK_FAILS(TrimFreeSpace(root.get(), 0, kSize), kUnimplemented, "cannot be trimmed");
  }
  REQUIRE(::umount2(directory.path().c_str(), UMOUNT_NOFOLLOW) == 0);
}

}  // namespace trim_test
}  // namespace holdfast::os
