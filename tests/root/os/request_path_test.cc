// SPDX-License-Identifier: Apache-2.0
#include "os/request_path.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <linux/magic.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include "os/mounter.h"
#include "support/mount_point.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace request_path_test {

using test::TempDirectory;

RequestPath OpenTarget(const std::string& path) {
  auto target = RequestPath::Open(path, "target_path");
  INFO(target.status());
  REQUIRE(target.ok());
  return *std::move(target);
}

void MountTmpfs(const RequestPath& target) {
  REQUIRE(::mount("", target.path().c_str(), "tmpfs", 0, "size=64k") == 0);
}

TEST_CASE("what is a mount point is not removed") {
  const TempDirectory directory;
  const RequestPath target = OpenTarget(directory.path("x"));
  SECTION("a directory") {
    REQUIRE(target.MakeDirectory().ok());
    MountTmpfs(target);
  }
  SECTION("a file") {
    REQUIRE(target.MakeFile().ok());
    const RequestPath other = OpenTarget(directory.path("other"));
    REQUIRE(other.MakeFile().ok());
    REQUIRE(test::BindPath(other.path(), target, false, {}).ok());
  }
  CHECK(target.RemoveIfEmpty().code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(Unmount(target).ok());
  CHECK(target.RemoveIfEmpty().ok());
  CHECK_FALSE(std::filesystem::exists(target.path()));
}

TEST_CASE("one statx tells where nothing is mounted") {
  const TempDirectory directory;
  const RequestPath target = OpenTarget(directory.path("x"));
  CHECK(target.HasNoMount());  // nothing exists there
  REQUIRE(target.MakeDirectory().ok());
  CHECK(target.HasNoMount());
  MountTmpfs(target);
  CHECK_FALSE(target.HasNoMount());
  {
    const RequestPath below = OpenTarget(directory.path("x/below"));
    REQUIRE(below.MakeDirectory().ok());
    CHECK(below.HasNoMount());                                      // on a mount, not at one
    REQUIRE(test::BindPath(below.path(), target, false, {}).ok());  // of the same filesystem
  }
  CHECK_FALSE(target.HasNoMount());
  REQUIRE(Unmount(target).ok());
  CHECK_FALSE(target.HasNoMount());
  REQUIRE(Unmount(target).ok());
  CHECK(target.HasNoMount());
  const RequestPath link = OpenTarget(directory.path("link"));
  std::filesystem::create_symlink("/proc", link.path());
  CHECK(link.HasNoMount());  // the link itself, not where it leads
}

TEST_CASE("a handle is the root of the topmost mount and keeps it busy") {
  const TempDirectory directory;
  const RequestPath target = OpenTarget(directory.path("x"));
  REQUIRE(target.MakeDirectory().ok());
  MountTmpfs(target);
  {
    const auto handle = target.OpenHandle();
    REQUIRE(handle.ok());
    struct statfs facts {};
    REQUIRE(::fstatfs(handle->get(), &facts) == 0);
    CHECK(facts.f_type == TMPFS_MAGIC);
    CHECK(Unmount(target).code() == absl::StatusCode::kFailedPrecondition);
  }
  CHECK(Unmount(target).ok());
}

TEST_CASE("making a directory where one is mounted changes nothing") {
  const TempDirectory directory;
  const RequestPath target = OpenTarget(directory.path("x"));
  REQUIRE(target.MakeDirectory().ok());
  MountTmpfs(target);
  CHECK(target.MakeDirectory().ok());
  CHECK(target.MakeFile().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(Unmount(target).ok());
}

}  // namespace request_path_test
}  // namespace holdfast::os
