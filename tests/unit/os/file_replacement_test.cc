// SPDX-License-Identifier: Apache-2.0
// Files that are replaced without an fsync: old or new after a kill, whatever was there before.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <string>

#include "os/file.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace file_replacement_test {

constexpr std::size_t kPage = 4096;

struct stat FactsOf(const test::TempDirectory& directory) {
  struct stat facts {};
  REQUIRE(::stat(directory.path("file").c_str(), &facts) == 0);
  return facts;
}

TEST_CASE("a file that was longer than a page is not overwritten page by page") {
  const test::TempDirectory directory;
  REQUIRE_OK(ReplaceFile(directory.fd(), "file", std::string(kPage + 300, 'o')));
  const struct stat before = FactsOf(directory);
  REQUIRE_OK(ReplaceFile(directory.fd(), "file", "new"));
  // Overwritten it would have the old length, and a kill after the first page would leave the new
  // text with the old end.
  CHECK(FactsOf(directory).st_ino != before.st_ino);
  CHECK(test::Value(ReadFileAt(directory.fd(), "file")) == "new");
}

TEST_CASE("a file of one page is overwritten") {
  const test::TempDirectory directory;
  REQUIRE_OK(ReplaceFile(directory.fd(), "file", std::string(kPage, 'o')));
  const struct stat before = FactsOf(directory);
  REQUIRE_OK(ReplaceFile(directory.fd(), "file", "new"));
  CHECK(FactsOf(directory).st_ino == before.st_ino);
  CHECK(test::Value(ReadFileAt(directory.fd(), "file")) == "new" + std::string(kPage - 3, '\n'));
}

TEST_CASE("a directory's lock holds without its file") {
  const test::TempDirectory directory;
  const UniqueFd first = test::Value(OpenDirectory(directory.path("")));
  const UniqueFd second = test::Value(OpenDirectory(directory.path("")));
  const UniqueFd held = test::Value(LockDirectory(first.get(), "lock"));
  REQUIRE_OK(RemoveFileAt(directory.fd(), "lock"));
  CHECK_FAILS(LockDirectory(second.get(), "lock").status(), kFailedPrecondition,
              "held by another process");
}

TEST_CASE("a process of an older version, which locks the file alone, is noticed") {
  const test::TempDirectory directory;
  const UniqueFd older = test::Value(LockFileAt(directory.fd(), "lock"));
  const UniqueFd newer = test::Value(OpenDirectory(directory.path("")));
  CHECK_FAILS(LockDirectory(newer.get(), "lock").status(), kFailedPrecondition,
              "held by another process");
}

}  // namespace file_replacement_test
}  // namespace holdfast::os
