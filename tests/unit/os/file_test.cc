// SPDX-License-Identifier: Apache-2.0
#include "os/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "support/temp_directory.h"

namespace holdfast::os {
namespace file_test {

using test::TempDirectory;

// The permissions of `name`, or -1 if it does not exist.
int ModeOf(const TempDirectory& directory, const std::string& name) {
  struct stat facts {};
  if (::fstatat(directory.fd(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  return static_cast<int>(facts.st_mode & 07777);
}

class Umask final {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

TEST_CASE("what was written is read back, by either way of replacing") {
  const TempDirectory directory;
  auto* const replace = GENERATE(&WriteFileDurably, &ReplaceFile);
  const std::string binary("a\0b\n", 4);
  for (const std::string& content : {std::string(), binary, std::string(100'000, 'x')}) {
    REQUIRE(replace(directory.fd(), "record", content).ok());
    const auto read = ReadFileAt(directory.fd(), "record");
    REQUIRE(read.ok());
    CHECK(*read == content);
  }
  CHECK(ModeOf(directory, "record") == 0600);
  CHECK(ModeOf(directory, "record.tmp") == -1);
}

TEST_CASE("a shorter replacement is followed by newlines, in the same file") {
  const TempDirectory directory;
  REQUIRE(ReplaceFile(directory.fd(), "record", "{long}\n").ok());
  const UniqueFd before(::openat(directory.fd(), "record", O_RDONLY | O_CLOEXEC));
  REQUIRE(ReplaceFile(directory.fd(), "record", "{}\n").ok());
  CHECK(*ReadFileAt(directory.fd(), "record") == "{}\n\n\n\n\n");
  std::string seen(16, 0);
  CHECK(::pread(before.get(), seen.data(), seen.size(), 0) == 7);
  CHECK(seen.starts_with("{}\n"));
  REQUIRE(::symlinkat("record", directory.fd(), "link") == 0);
  CHECK_FALSE(ReplaceFile(directory.fd(), "link", "{}").ok());
}

TEST_CASE("a left-over temporary file is overwritten whole and its mode is not kept") {
  const TempDirectory directory;
  {
    const UniqueFd left(::open(directory.path("record.tmp").c_str(), O_WRONLY | O_CREAT, 0644));
    REQUIRE(::write(left.get(), "left over and longer", 20) == 20);
    REQUIRE(::fchmod(left.get(), 0644) == 0);
  }
  REQUIRE(WriteFileDurably(directory.fd(), "record", "new").ok());
  CHECK(*ReadFileAt(directory.fd(), "record") == "new");
  CHECK(ModeOf(directory, "record") == 0600);
}

TEST_CASE("a failed replacement leaves the old content and no temporary file") {
  const TempDirectory directory;
  REQUIRE(MakeDirectoryAt(directory.fd(), "record", 0700).ok());  // rename onto it fails
  const absl::Status status = WriteFileDurably(directory.fd(), "record", "new");
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(status), Catch::Contains("'record'"));
  CHECK(ModeOf(directory, "record.tmp") == -1);
}

TEST_CASE("a temporary name that is a symbolic link is not followed") {
  const TempDirectory directory;
  REQUIRE(WriteFileDurably(directory.fd(), "victim", "precious").ok());
  REQUIRE(::symlinkat("victim", directory.fd(), "record.tmp") == 0);
  REQUIRE(WriteFileDurably(directory.fd(), "record", "new").ok());
  CHECK(*ReadFileAt(directory.fd(), "record") == "new");
  CHECK(*ReadFileAt(directory.fd(), "victim") == "precious");
}

TEST_CASE("ReadFileAt reads regular files of a bounded size only") {
  const TempDirectory directory;
  CHECK(ReadFileAt(directory.fd(), "none").status().code() == absl::StatusCode::kNotFound);

  REQUIRE(ReplaceFile(directory.fd(), "ten", "0123456789").ok());
  CHECK(ReadFileAt(directory.fd(), "ten", 10).ok());
  CHECK(ReadFileAt(directory.fd(), "ten", 9).status().code() == absl::StatusCode::kInternal);

  REQUIRE(::symlinkat("ten", directory.fd(), "link") == 0);
  CHECK(ReadFileAt(directory.fd(), "link").status().code() == absl::StatusCode::kInternal);
  REQUIRE(MakeDirectoryAt(directory.fd(), "directory", 0700).ok());
  CHECK(ReadFileAt(directory.fd(), "directory").status().code() == absl::StatusCode::kInternal);
  REQUIRE(::mkfifoat(directory.fd(), "fifo", 0600) == 0);
  CHECK(ReadFileAt(directory.fd(), "fifo").status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("directories are made once, with exactly the mode, whatever the umask") {
  const TempDirectory directory;
  const Umask umask(0077);
  REQUIRE(MakeDirectoryAt(directory.fd(), "d", 0755).ok());
  CHECK(ModeOf(directory, "d") == 0755);
  REQUIRE(MakeDirectoryAt(directory.fd(), "d", 0700).ok());
  CHECK(ModeOf(directory, "d") == 0755);

  REQUIRE(ReplaceFile(directory.fd(), "file", "").ok());
  CHECK(MakeDirectoryAt(directory.fd(), "file", 0700).code() == absl::StatusCode::kInternal);
  CHECK(MakeDirectoryAt(directory.fd(), "none/d", 0700).code() == absl::StatusCode::kInternal);
}

TEST_CASE("OpenDirectoryAt refuses symbolic links, OpenDirectory follows them") {
  const TempDirectory directory;
  REQUIRE(MakeDirectoryAt(directory.fd(), "d", 0700).ok());
  REQUIRE(::symlinkat("d", directory.fd(), "link") == 0);
  CHECK(OpenDirectoryAt(directory.fd(), "d").ok());
  CHECK(OpenDirectoryAt(directory.fd(), "link").status().code() == absl::StatusCode::kInternal);
  CHECK(OpenDirectoryAt(directory.fd(), "none").status().code() == absl::StatusCode::kNotFound);
  CHECK(OpenDirectory(directory.path("link")).ok());
  CHECK(OpenDirectory(directory.path("none")).status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("ListDirectory is sorted and can be repeated on one descriptor") {
  const TempDirectory directory;
  CHECK(ListDirectory(directory.fd())->empty());
  for (const char* name : {"b", "c", "a"}) REQUIRE(ReplaceFile(directory.fd(), name, "").ok());
  const std::vector<std::string> expected = {"a", "b", "c"};
  CHECK(*ListDirectory(directory.fd()) == expected);
  CHECK(*ListDirectory(directory.fd()) == expected);
  const UniqueFd file(::openat(directory.fd(), "a", O_RDONLY | O_CLOEXEC));
  CHECK(ListDirectory(file.get()).status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("removal is idempotent and takes nothing that is not empty") {
  const TempDirectory directory;
  REQUIRE(ReplaceFile(directory.fd(), "file", "").ok());
  CHECK(RemoveFileAt(directory.fd(), "file").ok());
  CHECK(RemoveFileAt(directory.fd(), "file").ok());
  CHECK(ModeOf(directory, "file") == -1);

  REQUIRE(MakeDirectoryAt(directory.fd(), "d", 0700).ok());
  REQUIRE(ReplaceFile(directory.fd(), "d/file", "").ok());
  CHECK(RemoveEmptyDirectoryAt(directory.fd(), "d").code() == absl::StatusCode::kInternal);
  CHECK(RemoveFileAt(directory.fd(), "d").code() == absl::StatusCode::kInternal);
  CHECK(RemoveFileAt(directory.fd(), "d/file").ok());
  CHECK(RemoveEmptyDirectoryAt(directory.fd(), "d").ok());
  CHECK(RemoveEmptyDirectoryAt(directory.fd(), "d").ok());
}

TEST_CASE("a lock is exclusive and ends with its descriptor") {
  const TempDirectory directory;
  {
    const auto held = LockFileAt(directory.fd(), "lock");
    REQUIRE(held.ok());
    CHECK(ModeOf(directory, "lock") == 0600);
    const auto refused = LockFileAt(directory.fd(), "lock");
    CHECK(refused.status().code() == absl::StatusCode::kFailedPrecondition);
  }
  CHECK(LockFileAt(directory.fd(), "lock").ok());
}

TEST_CASE("Sync names what could not be synced") {
  const TempDirectory directory;
  CHECK(Sync(directory.fd(), "the pool").ok());
  const absl::Status status = Sync(-1, "the pool");
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(status), Catch::Contains("'the pool'"));
}

}  // namespace file_test
}  // namespace holdfast::os
