// SPDX-License-Identifier: Apache-2.0
#include "os/block_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "os/file.h"
#include "support/loop_image.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace block_device_test {

using test::AttachedLoop;
using test::ImageFile;
using test::TempDirectory;

TEST_CASE("InspectBlockDevice tells number, size and write protection") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), 8 * kMiB);
  const AttachedLoop loop(image.fd());
  const auto device = InspectBlockDevice(loop->block.path);
  REQUIRE(device.ok());
  struct stat node {};
  REQUIRE(::stat(loop->block.path.c_str(), &node) == 0);
  CHECK(device->path == loop->block.path);
  CHECK(device->number == node.st_rdev);
  CHECK(device->size == 8 * kMiB);
  CHECK_FALSE(device->read_only);
}

TEST_CASE("InspectBlockDevice refuses what is no block device") {
  const TempDirectory directory;
  REQUIRE(ReplaceFile(directory.fd(), "file", "").ok());
  CHECK(InspectBlockDevice(directory.path("none")).status().code() == absl::StatusCode::kNotFound);
  for (const std::string& path : {directory.path("file"), directory.path(), {"/dev/null"}}) {
    CAPTURE(path);
    const auto device = InspectBlockDevice(path);
    CHECK(device.status().code() == absl::StatusCode::kInternal);
    CHECK_THAT(MessageOf(device.status()), Catch::Contains(path));
  }
}

TEST_CASE("a single byte in the first or the last MiB is seen") {
  const TempDirectory directory;
  // Of one sector only, with head and tail overlapping, and with something between them.
  const auto size = GENERATE(values<Bytes>({512, kMiB, kMiB + 512, 3 * kMiB, 8 * kMiB}));
  const auto sector_size = GENERATE(values<std::uint32_t>({512, 4096}));
  if (size % sector_size != 0) return;  // no such device
  CAPTURE(size, sector_size);
  const ImageFile image(directory.path("image"), size);
  const auto check = [&] {
    const AttachedLoop loop(image.fd(), {.sector_size = sector_size});
    const auto zero = HeadAndTailAreZero(loop->block);
    INFO(zero.status().ToString());
    REQUIRE(zero.ok());
    return *zero;
  };
  CHECK(check());
  for (const Bytes offset :
       {Bytes{0}, std::min(size, kMiB) - 1, size - std::min(size, kMiB), size - 1}) {
    CAPTURE(offset);
    REQUIRE(::pwrite(image.fd(), "\1", 1, offset) == 1);
    CHECK_FALSE(check());
    REQUIRE(::pwrite(image.fd(), "\0", 1, offset) == 1);
  }
  CHECK(check());
  if (size > 2 * kMiB) {
    REQUIRE(::pwrite(image.fd(), "\1", 1, size / 2) == 1);
    CHECK(check());
  }
}

TEST_CASE("what cannot be read is an error, never zero") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), 8 * kMiB);
  const AttachedLoop loop(image.fd());
  SECTION("the end is missing") {
    BlockDevice longer = loop->block;
    longer.size += kMiB;
    CHECK(HeadAndTailAreZero(longer).status().code() == absl::StatusCode::kInternal);
  }
  SECTION("the image was cut behind the device's back") {
    REQUIRE(::ftruncate(image.fd(), kMiB) == 0);
    CHECK(HeadAndTailAreZero(loop->block).status().code() == absl::StatusCode::kInternal);
  }
  SECTION("another device under the name") {
    BlockDevice other = loop->block;
    other.number += 1;
    CHECK(HeadAndTailAreZero(other).status().code() == absl::StatusCode::kInternal);
    CHECK(SetReadOnly(other, true).code() == absl::StatusCode::kInternal);
    CHECK(FlushBlockDevice(other).code() == absl::StatusCode::kInternal);
    CHECK_FALSE(InspectBlockDevice(loop->block.path)->read_only);
  }
  SECTION("no size") {
    BlockDevice empty = loop->block;
    empty.size = 0;
    CHECK(HeadAndTailAreZero(empty).status().code() == absl::StatusCode::kInternal);
  }
}

TEST_CASE("SetReadOnly makes the device itself refuse writes, and allows them again") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), 8 * kMiB);
  const AttachedLoop loop(image.fd());
  const auto write_byte = [&] {
    const UniqueFd node(::open(loop->block.path.c_str(), O_RDWR | O_CLOEXEC));
    return node.valid() && ::pwrite(node.get(), "x", 1, 0) == 1 && ::fsync(node.get()) == 0;
  };
  REQUIRE(SetReadOnly(loop->block, true).ok());
  CHECK(InspectBlockDevice(loop->block.path)->read_only);
  CHECK_FALSE(write_byte());
  REQUIRE(SetReadOnly(loop->block, false).ok());
  CHECK_FALSE(InspectBlockDevice(loop->block.path)->read_only);
  CHECK(write_byte());
}

TEST_CASE("FlushBlockDevice brings buffered writes to the image") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), 8 * kMiB);
  const AttachedLoop loop(image.fd());
  // Held open, because the last close would flush by itself.
  const UniqueFd node(::open(loop->block.path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::pwrite(node.get(), "flushed", 7, 4096) == 7);
  REQUIRE(FlushBlockDevice(loop->block).ok());
  char text[7] = {};
  REQUIRE(::pread(image.fd(), text, sizeof(text), 4096) == 7);
  CHECK(std::string(text, sizeof(text)) == "flushed");
}

}  // namespace block_device_test
}  // namespace holdfast::os
