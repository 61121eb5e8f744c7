// SPDX-License-Identifier: Apache-2.0
#include "file/data_copy.h"

#include <fcntl.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "file/copy_rate.h"
#include "support/loop_image.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace data_copy_test {

using Clock = std::chrono::steady_clock;
using test::Value;

constexpr Bytes kSize = 64 * kMiB;
constexpr auto kLong = std::chrono::hours(1);

// Data at 4 to 8 and at 40 to 41 MiB, allocated space without data at 16 to 32 MiB.
struct Fixture {
  explicit Fixture(const std::string& type = "ext4")
      : disk(type == "ext4" ? "ext4" : "xfs",
             type == "ext4" ? std::vector<std::string>{"mkfs.ext4", "-q", "-F"}
                            : std::vector<std::string>{"mkfs.xfs", "-q", "-f", "-m", "reflink=0"},
             400 * kMiB),
        source(disk.path() + "/source", kSize),
        copy(disk.path() + "/copy", kSize) {
    Write(source, 4 * kMiB, 4 * kMiB, 'a');
    Write(source, 40 * kMiB, kMiB, 'b');
    REQUIRE(::fallocate(source.fd(), 0, 16 * kMiB, 16 * kMiB) == 0);
  }
  static void Write(const test::ImageFile& file, Bytes at, Bytes size, char byte) {
    const std::string data(static_cast<std::size_t>(size), byte);
    REQUIRE(::pwrite(file.fd(), data.data(), data.size(), at) == size);
    REQUIRE(::fsync(file.fd()) == 0);
  }
  absl::StatusOr<CopiedPart> Copy(Bytes begin, Bytes most) {
    return CopyData(from.get(), to.get(), begin, kSize, Clock::now() + kLong, most);
  }
  static std::string ReadAll(const test::ImageFile& file) {
    std::string data(kSize, '\0');
    REQUIRE(::pread(file.fd(), data.data(), data.size(), 0) == kSize);
    return data;
  }

  test::MountedFilesystem disk;
  test::ImageFile source;
  test::ImageFile copy;
  os::UniqueFd from = source.Open(O_RDONLY);
  os::UniqueFd to = copy.Open(O_RDWR);
};

TEST_CASE("data is copied and nothing else, also in parts") {
  Fixture files(GENERATE(as<std::string>(), "ext4", "xfs"));
  CHECK(Value(DataBytes(files.from.get(), kSize)) == 5 * kMiB);
  const Bytes most = GENERATE(Bytes{1}, 3 * kMiB, kSize);
  Bytes copied = 0;
  for (Bytes at = 0; at < kSize;) {
    const CopiedPart part = Value(files.Copy(at, most));
    REQUIRE(part.reached > at);
    at = part.reached;
    copied += part.copied;
  }
  REQUIRE(::fsync(files.to.get()) == 0);
  CHECK(copied == 5 * kMiB);
  CHECK((Fixture::ReadAll(files.copy) == Fixture::ReadAll(files.source)));
  CHECK(files.copy.AllocatedBytes() < 6 * kMiB);
}

TEST_CASE_METHOD(Fixture, "a copy ends in time, and continues from there") {
  const CopiedPart part =
      Value(CopyData(from.get(), to.get(), 0, kSize, Clock::now() - kLong, kSize));
  CHECK(part.copied == kMiB);
  CHECK(part.reached == 5 * kMiB);
  CHECK(Value(Copy(part.reached, kSize)).copied == 4 * kMiB);
  CHECK((ReadAll(copy) == ReadAll(source)));
}

TEST_CASE_METHOD(Fixture, "room is allocated for the data alone") {
  REQUIRE_OK(AllocateForData(from.get(), to.get(), kSize));
  CHECK(copy.AllocatedBytes() >= 5 * kMiB);
  CHECK(copy.AllocatedBytes() < 6 * kMiB);
  CHECK(Value(DataBytes(to.get(), kSize)) == 0);
}

TEST_CASE_METHOD(Fixture, "a full disk is not taken for another error") {
  const test::ImageFile filler(disk.path() + "/filler", 0);
  for (Bytes size = 256 * kMiB; size >= 4096;) {
    if (::fallocate(filler.fd(), 0, filler.AllocatedBytes(), size) != 0) size /= 2;
  }
  CHECK(absl::IsResourceExhausted(Copy(0, kSize).status()));
  CHECK(absl::IsResourceExhausted(AllocateForData(from.get(), to.get(), kSize)));
}

TEST_CASE_METHOD(Fixture, "a write changes the version, and reading does not") {
  const std::string version = Value(VersionOf(from.get()));
  REQUIRE_OK(Copy(0, kSize).status());
  CHECK(Value(VersionOf(from.get())) == version);
  const timespec tick{.tv_sec = 0, .tv_nsec = 20'000'000};  // of the clock of old kernels
  ::nanosleep(&tick, nullptr);
  Write(source, 0, 1, 'c');
  CHECK(Value(VersionOf(from.get())) != version);
}

TEST_CASE("the rate of copies follows the last ones") {
  CopyRate rate;
  CHECK_FALSE(rate.IsKnown());
  CHECK(rate.TimeFor(CopyRate::kAssumed).count() == 1000);
  rate.Note(4096, std::chrono::seconds(1));  // too little to say anything
  CHECK_FALSE(rate.IsKnown());
  rate.Note(100 * kMiB, std::chrono::seconds(1));
  CHECK(rate.TimeFor(200 * kMiB).count() == 2000);
  rate.Note(300 * kMiB, std::chrono::seconds(1));
  CHECK(rate.TimeFor(200 * kMiB).count() == 1000);
}

}  // namespace data_copy_test
}  // namespace holdfast::file
