// SPDX-License-Identifier: Apache-2.0
#include "file/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "core/disk_names.h"
#include "os/file.h"
#include "support/loop_image.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::file {
namespace image_file_test {

constexpr auto kThick = Provisioning::kThick;
constexpr auto kThin = Provisioning::kThin;

os::UniqueFd Make(int directory_fd, Bytes size, Provisioning provisioning) {
  REQUIRE_OK(MakeImage(directory_fd, size, provisioning));
  return test::Value(OpenImage(directory_fd));
}

void Write(int fd, Bytes offset, const std::string& text) {
  REQUIRE(::pwrite(fd, text.data(), text.size(), offset) == static_cast<ssize_t>(text.size()));
}

std::string Read(int fd, Bytes offset, std::size_t size) {
  std::string text(size, '?');
  REQUIRE(::pread(fd, text.data(), size, offset) == static_cast<ssize_t>(size));
  return text;
}

bool IsZero(int fd, Bytes offset, std::size_t size) {
  return std::ranges::all_of(Read(fd, offset, size), [](char c) { return c == 0; });
}

Bytes Size(int fd) { return test::Value(ImageSize(fd)); }
Bytes Allocated(int fd) { return test::Value(ImageAllocated(fd)); }

TEST_CASE("a new image reads as zeros; thick has all its bytes, thin none") {
  const test::TempDirectory directory;
  const auto provisioning = GENERATE(as<Provisioning>(), kThick, kThin);
  const os::UniqueFd image = Make(directory.fd(), 4 * kMiB, provisioning);
  CHECK(Size(image.get()) == 4 * kMiB);
  CHECK(IsZero(image.get(), 0, 4 * kMiB));
  if (provisioning == kThick) {
    CHECK(Allocated(image.get()) >= 4 * kMiB);
  } else {
    CHECK(Allocated(image.get()) == 0);
  }
  struct stat facts {};
  REQUIRE(::fstat(image.get(), &facts) == 0);
  CHECK((facts.st_mode & 07777) == 0600);
}

TEST_CASE("an image that is there is never replaced") {
  const test::TempDirectory directory;
  const os::UniqueFd image = Make(directory.fd(), 8 * kMiB, kThick);
  Write(image.get(), 0, "data");
  CHECK_FAILS(MakeImage(directory.fd(), kMiB, kThin), kAlreadyExists, "");
  CHECK(Size(image.get()) == 8 * kMiB);
  CHECK(Read(image.get(), 0, 4) == "data");
}

TEST_CASE("only a regular file that is there is an image") {
  const test::TempDirectory directory;
  CHECK_FAILS(OpenImage(directory.fd()), kNotFound, "the image is missing");
  SECTION("a symbolic link is not followed") {
    REQUIRE(::symlink("/etc/hostname", directory.path("image").c_str()) == 0);
  }
  SECTION("a directory") { REQUIRE(::mkdir(directory.path("image").c_str(), 0700) == 0); }
  CHECK_FAILS(OpenImage(directory.fd()), kInternal, "image");
}

TEST_CASE("a longer image keeps its bytes and reads as zeros behind them") {
  const test::TempDirectory directory;
  const auto provisioning = GENERATE(as<Provisioning>(), kThick, kThin);
  const os::UniqueFd image = Make(directory.fd(), kMiB, provisioning);
  Write(image.get(), kMiB - 4, "last");
  REQUIRE_OK(ExtendImage(image.get(), 3 * kMiB, provisioning));
  REQUIRE_OK(ExtendImage(image.get(), 3 * kMiB, provisioning));
  CHECK(Size(image.get()) == 3 * kMiB);
  CHECK(Read(image.get(), kMiB - 4, 4) == "last");
  CHECK(IsZero(image.get(), kMiB, 2 * kMiB));
  if (provisioning == kThick) CHECK(Allocated(image.get()) >= 3 * kMiB);
  REQUIRE_OK(ExtendImage(image.get(), kMiB, provisioning));  // at least, never less
  CHECK(Size(image.get()) == 3 * kMiB);
}

TEST_CASE("an extension is taken back whole") {
  const test::TempDirectory directory;
  const os::UniqueFd image = Make(directory.fd(), kMiB, kThick);
  Write(image.get(), kMiB - 4, "last");
  const Bytes before = Allocated(image.get());
  REQUIRE_OK(ExtendImage(image.get(), 3 * kMiB, kThick));
  REQUIRE_OK(CutOffImage(image.get(), kMiB));
  CHECK(Size(image.get()) == kMiB);
  CHECK(Allocated(image.get()) == before);
  CHECK(Read(image.get(), kMiB - 4, 4) == "last");
}

TEST_CASE("holes of a thick image are filled again, its data stays") {
  const test::TempDirectory directory;
  const os::UniqueFd image = Make(directory.fd(), 2 * kMiB, kThick);
  Write(image.get(), 0, "first");
  Write(image.get(), kMiB, "hole");
  REQUIRE(::fallocate(image.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kMiB, 65536) == 0);
  REQUIRE(Allocated(image.get()) < 2 * kMiB);
  REQUIRE_OK(RefillHoles(image.get(), 2 * kMiB));
  CHECK(Allocated(image.get()) >= 2 * kMiB);
  CHECK(Size(image.get()) == 2 * kMiB);
  CHECK(Read(image.get(), 0, 5) == "first");
  CHECK(IsZero(image.get(), kMiB, 65536));
}

TEST_CASE("a blank image has no byte of before, and is as thick as before") {
  const test::TempDirectory directory;
  const auto provisioning = GENERATE(as<Provisioning>(), kThick, kThin);
  const os::UniqueFd image = Make(directory.fd(), 2 * kMiB, provisioning);
  for (Bytes offset = 0; offset < 2 * kMiB; offset += 65536) Write(image.get(), offset, "data");
  REQUIRE_OK(ZeroImage(image.get(), 2 * kMiB, provisioning));
  CHECK(Size(image.get()) == 2 * kMiB);
  CHECK(IsZero(image.get(), 0, 2 * kMiB));
  if (provisioning == kThick) {
    CHECK(Allocated(image.get()) >= 2 * kMiB);
  } else {
    CHECK(Allocated(image.get()) == 0);
  }
}

TEST_CASE("a full filesystem and an impossible size are told apart") {
  const test::MountedFilesystem disk("ext4", {"mkfs.ext4", "-q", "-m", "0"}, 16 * kMiB);
  const os::UniqueFd root = disk.Root();
  CHECK_FAILS(MakeImage(root.get(), 64 * kMiB, kThick), kResourceExhausted, "allocate the image");
  REQUIRE_OK(os::RemoveFileAt(root.get(), kImageName));
  CHECK_FAILS(MakeImage(root.get(), Bytes{1} << 62, kThin), kOutOfRange, "size of the image");
  REQUIRE_OK(os::RemoveFileAt(root.get(), kImageName));
  REQUIRE_OK(
      MakeImage(root.get(), 64 * kMiB, kThin));  // this file does not check what is provisioned
}

// What is allocated already needs no more room, though xfs wants some for all of a range.
TEST_CASE("an image of most of an xfs grows by what is missing") {
  const test::MountedFilesystem disk("xfs", {"mkfs.xfs", "-q"}, 400 * kMiB);
  const os::UniqueFd root = disk.Root();
  const os::UniqueFd image = Make(root.get(), 200 * kMiB, kThick);
  REQUIRE(::fallocate(image.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 10 * kMiB, kMiB) ==
          0);
  REQUIRE_OK(ExtendImage(image.get(), 220 * kMiB, kThick));
  CHECK(Size(image.get()) == 220 * kMiB);
  CHECK(Allocated(image.get()) >= 220 * kMiB);
  REQUIRE(::fallocate(image.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kMiB, kMiB) == 0);
  REQUIRE_OK(RefillHoles(image.get(), 220 * kMiB));
  CHECK(Allocated(image.get()) >= 220 * kMiB);
  CHECK(Size(image.get()) == 220 * kMiB);
  CHECK_FAILS(ExtendImage(image.get(), 500 * kMiB, kThick), kResourceExhausted, "allocate");
}

TEST_CASE("growing on a full filesystem can be taken back whole") {
  const test::MountedFilesystem disk("ext4", {"mkfs.ext4", "-q", "-m", "0"}, 16 * kMiB);
  const os::UniqueFd root = disk.Root();
  const os::UniqueFd image = Make(root.get(), kMiB, kThick);
  const Bytes before = Allocated(image.get());
  CHECK_FAILS(ExtendImage(image.get(), 64 * kMiB, kThick), kResourceExhausted, "allocate");
  CHECK(Allocated(image.get()) > 2 * kMiB);
  REQUIRE_OK(CutOffImage(image.get(), kMiB));
  CHECK(Size(image.get()) == kMiB);
  CHECK(Allocated(image.get()) <= before + 4096);  // ext4 may keep a block of its extent tree
}

}  // namespace image_file_test
}  // namespace holdfast::file
