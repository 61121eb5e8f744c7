// SPDX-License-Identifier: Apache-2.0
#include "os/request_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

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

mode_t ModeOf(const std::string& path) {
  struct stat facts {};
  REQUIRE(::lstat(path.c_str(), &facts) == 0);
  return facts.st_mode;
}

TEST_CASE("a target path that is not in normal form is refused by name") {
  const std::string bad = GENERATE(
      as<std::string>(), "", "/", "relative", "./x", "//var", "/var//tmp", "/var/tmp//",
      "/var/./tmp", "/var/../tmp", "/var/tmp/.", "/var/tmp/..", "/..", std::string("/var/t\0mp", 9),
      "/var/tmp\n", "/var/" + std::string(256, 'n'), "/var/" + std::string(256, 'n') + "/x",
      "/" + std::string(2046, 'a') + "/" + std::string(2049, 'b'), std::string(5000, '/'));
  CAPTURE(bad);
  const absl::Status status = RequestPath::Open(bad, "staging_target_path").status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(MessageOf(status).find("staging_target_path") != std::string::npos);
}

TEST_CASE("a target path names the same place with and without a trailing slash") {
  const TempDirectory directory;
  CHECK(OpenTarget(directory.path("x")).path() == directory.path("x"));
  CHECK(OpenTarget(directory.path("x/")).path() == directory.path("x"));
  CHECK(OpenTarget("/x").path() == "/x");
  CHECK(OpenTarget(directory.path("..x")).path() == directory.path("..x"));
  CHECK(OpenTarget(directory.path("x y")).path() == directory.path("x y"));
}

TEST_CASE("a target path whose parent is missing is not found") {
  const TempDirectory directory;
  CHECK(RequestPath::Open(directory.path("a/b"), "f").status().code() ==
        absl::StatusCode::kNotFound);
  CHECK(RequestPath::Open(directory.path("a/b/c"), "f").status().code() ==
        absl::StatusCode::kNotFound);
}

TEST_CASE("a target path through a symbolic link or a file is refused") {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.path("real/below"));
  std::filesystem::create_symlink(directory.path("real"), directory.path("link"));
  std::filesystem::create_symlink(directory.path("nowhere"), directory.path("dangling"));
  std::ofstream(directory.path("file")) << "x";
  for (const char* name : {"link/x", "link/below/x", "dangling/x", "file/x"}) {
    CAPTURE(name);
    const absl::Status status = RequestPath::Open(directory.path(name), "f").status();
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("directories and files are made once and kept") {
  const TempDirectory directory;
  ::umask(022);
  const RequestPath target = OpenTarget(directory.path("x"));
  SECTION("a directory") {
    REQUIRE(target.MakeDirectory().ok());
    CHECK(ModeOf(target.path()) == (S_IFDIR | 0750));
    CHECK(target.MakeDirectory().ok());
    CHECK(target.MakeFile().code() == absl::StatusCode::kFailedPrecondition);
  }
  SECTION("a file") {
    REQUIRE(target.MakeFile().ok());
    CHECK(ModeOf(target.path()) == (S_IFREG | 0600));
    CHECK(target.MakeFile().ok());
    CHECK(target.MakeDirectory().code() == absl::StatusCode::kFailedPrecondition);
  }
  SECTION("a symbolic link is neither, wherever it leads") {
    std::filesystem::create_directory(directory.path("real"));
    std::filesystem::create_symlink(directory.path("real"), target.path());
    CHECK(target.MakeDirectory().code() == absl::StatusCode::kFailedPrecondition);
    CHECK(target.MakeFile().code() == absl::StatusCode::kFailedPrecondition);
    CHECK(target.OpenHandle().status().code() == absl::StatusCode::kFailedPrecondition);
  }
}

TEST_CASE("the parent that was opened stays the parent") {
  const TempDirectory directory;
  std::filesystem::create_directory(directory.path("parent"));
  std::filesystem::create_directory(directory.path("elsewhere"));
  const RequestPath target = OpenTarget(directory.path("parent/x"));
  std::filesystem::rename(directory.path("parent"), directory.path("moved"));
  std::filesystem::create_symlink(directory.path("elsewhere"), directory.path("parent"));
  REQUIRE(target.MakeDirectory().ok());
  CHECK(std::filesystem::is_directory(directory.path("moved/x")));
  CHECK(std::filesystem::is_directory(target.through_parent()));
  CHECK(std::filesystem::is_empty(directory.path("elsewhere")));
  REQUIRE(target.RemoveIfEmpty().ok());
  CHECK(std::filesystem::is_empty(directory.path("moved")));
}

TEST_CASE("a handle is what is there") {
  const TempDirectory directory;
  const RequestPath target = OpenTarget(directory.path("x"));
  CHECK(target.OpenHandle().status().code() == absl::StatusCode::kNotFound);
  REQUIRE(target.MakeFile().ok());
  const auto handle = target.OpenHandle();
  REQUIRE(handle.ok());
  struct stat facts {};
  REQUIRE(::fstat(handle->get(), &facts) == 0);
  CHECK(S_ISREG(facts.st_mode));
}

TEST_CASE("only what is empty is removed") {
  const TempDirectory directory;
  const std::string path = directory.path("x");
  const RequestPath target = OpenTarget(path);
  CHECK(target.RemoveIfEmpty().ok());
  SECTION("an empty directory") {
    std::filesystem::create_directory(path);
    CHECK(target.RemoveIfEmpty().ok());
    CHECK_FALSE(std::filesystem::exists(path));
  }
  SECTION("an empty file") {
    std::ofstream{path};
    CHECK(target.RemoveIfEmpty().ok());
    CHECK_FALSE(std::filesystem::exists(path));
  }
  SECTION("a directory with something in it") {
    std::filesystem::create_directories(path + "/below");
    CHECK(target.RemoveIfEmpty().code() == absl::StatusCode::kFailedPrecondition);
    CHECK(std::filesystem::exists(path + "/below"));
  }
  SECTION("a file with content") {
    std::ofstream(path) << "x";
    CHECK(target.RemoveIfEmpty().code() == absl::StatusCode::kFailedPrecondition);
    CHECK(std::filesystem::exists(path));
  }
  SECTION("a symbolic link") {
    std::filesystem::create_directory(directory.path("real"));
    std::filesystem::create_symlink(directory.path("real"), path);
    CHECK(target.RemoveIfEmpty().code() == absl::StatusCode::kFailedPrecondition);
    CHECK(std::filesystem::is_symlink(path));
    CHECK(std::filesystem::exists(directory.path("real")));
  }
}

}  // namespace request_path_test
}  // namespace holdfast::os
