// SPDX-License-Identifier: Apache-2.0
// Images that share blocks, and get their own.
#include "file/image_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "support/loop_image.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace image_copy_test {

constexpr Bytes kBlock = 4096;
constexpr Bytes kSize = 64 * kMiB;

Bytes BlocksOf(const test::ImageFile& image) {
  struct stat facts {};
  REQUIRE(::fstat(image.fd(), &facts) == 0);
  return static_cast<Bytes>(facts.st_blocks) * 512 / kBlock;
}

TEST_CASE("an image of many small pieces has no more blocks when they are its own") {
  const test::MountedFilesystem disk("xfs", {"mkfs.xfs", "-q", "-f", "-m", "reflink=1"},
                                     400 * kMiB);
  const test::ImageFile source(disk.path() + "/source", kSize);
  const test::ImageFile copy(disk.path() + "/copy", 0);
  for (Bytes at = 0; at < kSize; at += 64 * kBlock) {
    const std::string data(static_cast<std::size_t>(kBlock), 'a');
    REQUIRE(::pwrite(source.fd(), data.data(), data.size(), at) == kBlock);
  }
  REQUIRE(::fsync(source.fd()) == 0);
  const os::UniqueFd from = source.Open(O_RDONLY);
  const os::UniqueFd to = copy.Open(O_RDWR);
  REQUIRE_OK(CloneImage(from.get(), to.get()));
  REQUIRE_OK(MarkCopied(to.get(), true));
  const Bytes blocks = BlocksOf(copy);
  std::atomic<Bytes> unshared = 0;
  for (bool complete = false; !complete;) {
    complete = test::Value(UnshareImage(to.get(), Writers::kNone, unshared));
    // The map of the pieces may need a block more or less.
    CHECK(std::abs(BlocksOf(copy) - blocks) <= 2);
  }
  CHECK(unshared == kSize / 64);
  CHECK_FALSE(test::Value(IsUnfinishedCopy(to.get())));
}

}  // namespace image_copy_test
}  // namespace holdfast::file
