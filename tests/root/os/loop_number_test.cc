// SPDX-License-Identifier: Apache-2.0
// The settings that stick to a loop number: none may reach the next image or the next user.
#include "os/loop_number.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "os/loop_device.h"
#include "support/loop_image.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace loop_number_test {

using test::AttachedLoop;
using test::FindLoop;
using test::ImageFile;
using test::Losetup;
using test::LosetupDetach;
using test::OpenNode;
using test::SysfsText;
using test::TempDirectory;

constexpr Bytes kSize = 64 * kMiB;

// Differs each time that the kernel makes the number; 0 if there is none.
ino_t IncarnationOf(int index) {
  struct stat status {};
  const std::string path = fmt::format("/sys/block/loop{}", index);
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// True if another program has attached an image to it or had it removed meanwhile.
bool IsTaken(int index, ino_t incarnation) {
  return IsBound(index) || IncarnationOf(index) != incarnation;
}

// Other programs use loop devices while the tests run: one that has the number open keeps it from
// being removed, and one that attaches an image may make it again at once.
bool IsRetired(int index, ino_t incarnation) {
  constexpr int kAttempts = 200;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    RetireIdleLoops();
    if (IncarnationOf(index) != incarnation) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

bool Discard(const LoopDevice& loop) {
  const UniqueFd node = OpenNode(loop, O_RDWR);
  std::uint64_t range[2] = {0, static_cast<std::uint64_t>(loop.block.size)};
  return ::ioctl(node.get(), BLKDISCARD, range) == 0;
}

bool PunchHole(const LoopDevice& loop) {
  const UniqueFd node = OpenNode(loop, O_RDWR);
  return ::fallocate(node.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kMiB) == 0;
}

// For a number that must stay: another program may use it in between, and remove it; hardly three
// times.
bool OnceOfThree(const std::function<bool()>& stays) { return stays() || stays() || stays(); }

TEST_CASE("without discard nothing punches holes, and the number is used again or retired") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  REQUIRE(::fallocate(image.fd(), 0, 0, kSize) == 0);
  const ImageFile other(directory.path("other"), kSize);
  AttachedLoop below(other.fd());  // leaves a lower free number behind
  AttachedLoop loop(image.fd(), {.discard = false});
  CHECK_FALSE(AcceptsDiscard(loop->index));
  CHECK_FALSE(Discard(loop.get()));
  CHECK_FALSE(PunchHole(loop.get()));
  CHECK(image.AllocatedBytes() >= kSize);
  const ino_t incarnation = IncarnationOf(loop->index);
  const LoopDevice detached = loop.Release();
  REQUIRE(DetachLoop(detached).ok());
  REQUIRE(DetachLoop(below.Release()).ok());
  {
    const AttachedLoop with_discard(image.fd());
    CHECK(with_discard->index != detached.index);
    CHECK(Discard(with_discard.get()));
  }
  {
    const AttachedLoop again(image.fd(), {.discard = false});
    CHECK((again->index == detached.index || IsTaken(detached.index, incarnation)));
    CHECK_FALSE(Discard(again.get()));
    RetireIdleLoops();
    CHECK((*FindLoop(image.fd()))->index == again->index);  // not idle, not removed
  }
  CHECK(IsRetired(detached.index, incarnation));
  const AttachedLoop after(image.fd(), {.discard = false});  // the remembered number is gone
  CHECK_FALSE(Discard(after.get()));
}

TEST_CASE("with discard the image gives space back, and the number stays") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  REQUIRE(::fallocate(image.fd(), 0, 0, kSize) == 0);
  CHECK(OnceOfThree([&] {
    AttachedLoop loop(image.fd(), {.discard = true});
    CHECK(AcceptsDiscard(loop->index));
    CHECK(PunchHole(loop.get()));
    CHECK(Discard(loop.get()));
    CHECK(image.AllocatedBytes() < kMiB);
    const ino_t incarnation = IncarnationOf(loop->index);
    const LoopDevice detached = loop.Release();
    REQUIRE(DetachLoop(detached).ok());
    RetireIdleLoops();
    return IncarnationOf(detached.index) == incarnation;
  }));
}

TEST_CASE("a number without discard that somebody left does not reach the image") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const LoopDevice spoiled = Losetup({}, image);
  std::ofstream(fmt::format("/sys/block/loop{}/queue/discard_max_bytes", spoiled.index)) << 0;
  REQUIRE(SysfsText(spoiled.index, "queue/discard_max_bytes") == "0");
  const ino_t incarnation = IncarnationOf(spoiled.index);
  LosetupDetach(spoiled);
  {
    const AttachedLoop loop(image.fd());
    CHECK(Discard(loop.get()));
  }
  CHECK(IsRetired(spoiled.index, incarnation));
}

TEST_CASE("write protection that somebody left on a number does not reach the image") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  CHECK(OnceOfThree([&] {
    const LoopDevice spoiled = Losetup({}, image);
    REQUIRE(SetReadOnly(spoiled.block, true).ok());
    const ino_t incarnation = IncarnationOf(spoiled.index);
    LosetupDetach(spoiled);
    {
      const AttachedLoop loop(image.fd());
      CHECK_FALSE(loop->block.read_only);
      CHECK(Discard(loop.get()));
    }
    RetireIdleLoops();
    return IncarnationOf(spoiled.index) == incarnation;
  }));
}

TEST_CASE("write protection ends with the attachment") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  AttachedLoop loop(image.fd());
  REQUIRE(SetReadOnly(loop->block, true).ok());
  const LoopDevice detached = loop.Release();
  REQUIRE(DetachLoop(detached).ok());
  CHECK(SysfsText(detached.index, "ro") == "0");
}

TEST_CASE("write protection stays on a device that could not be detached") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const AttachedLoop loop(image.fd());
  REQUIRE(SetReadOnly(loop->block, true).ok());
  const UniqueFd opener = OpenNode(loop.get(), O_RDONLY);
  CHECK(DetachLoop(loop.get()).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(SysfsText(loop->index, "ro") == "1");
}

}  // namespace loop_number_test
}  // namespace holdfast::os
