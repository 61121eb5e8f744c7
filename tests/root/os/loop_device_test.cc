// SPDX-License-Identifier: Apache-2.0
#include "os/loop_device.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xfs/xfs.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "os/device_use.h"
#include "os/file.h"
#include "support/loop_image.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace loop_device_test {

using test::AttachedLoop;
using test::FindLoop;
using test::ImageFile;
using test::Losetup;
using test::LosetupDetach;
using test::MountedFilesystem;
using test::OpenNode;
using test::SysfsText;
using test::TempDirectory;

constexpr Bytes kSize = 64 * kMiB;

// The result of FindLoop: the index, or -1 for nothing.
int FoundIndex(int image_fd, int hint = -1) {
  const auto found = FindLoop(image_fd, hint);
  INFO(found.status().ToString());
  REQUIRE(found.ok());
  return found->has_value() ? (*found)->index : -1;
}

TEST_CASE("an image is attached, found again and detached") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  CHECK(FoundIndex(image.fd()) == -1);

  AttachedLoop loop(image.fd());
  CHECK(loop->block.path == fmt::format("/dev/loop{}", loop->index));
  CHECK(loop->block.size == kSize);
  CHECK_FALSE(loop->block.read_only);
  CHECK(SysfsText(loop->index, "loop/autoclear") == "0");
  struct stat node {};
  REQUIRE(::stat(loop->block.path.c_str(), &node) == 0);
  CHECK(node.st_rdev == loop->block.number);

  // By the description it was attached with, and by fresh ones: alone and in company.
  CHECK(FoundIndex(image.fd()) == loop->index);
  CHECK(FoundIndex(image.Open(O_RDWR).get()) == loop->index);
  CHECK(FoundIndex(image.Open(O_RDONLY).get()) == loop->index);
  for (const int hint : {loop->index, loop->index + 1, 0, 1'000'000}) {
    CHECK(FoundIndex(image.fd(), hint) == loop->index);
  }
  const auto found = FindLoop(image.fd());
  CHECK((*found)->block.number == loop->block.number);
  CHECK((*found)->block.size == kSize);
  CHECK((*found)->direct_io == loop->direct_io);

  const LoopDevice detached = loop.Release();
  CHECK(DetachLoop(detached).ok());
  CHECK(FoundIndex(image.fd()) == -1);
  CHECK(FoundIndex(image.fd(), detached.index) == -1);
  CHECK(DetachLoop(detached).ok());
}

TEST_CASE("a foreign loop device whose disk has failed does not hide ours") {
  const MountedFilesystem disk("xfs", {"mkfs.xfs", "-q"}, 300 * kMiB);
  const ImageFile foreign(disk.path() + "/image", kSize);
  AttachedLoop sick(foreign.fd());
  const UniqueFd root = disk.Root();
  std::uint32_t flags = XFS_FSOP_GOING_FLAGS_NOLOGFLUSH;
  REQUIRE(::ioctl(root.get(), XFS_IOC_GOINGDOWN, &flags) == 0);
  loop_info64 info{};
  REQUIRE(::ioctl(OpenNode(sick.get(), O_RDONLY).get(), LOOP_GET_STATUS64, &info) != 0);

  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const UniqueFd other = image.Open(O_RDWR);  // so that every loop device is looked at
  CHECK(FoundIndex(image.fd()) == -1);
  const AttachedLoop loop(image.fd());
  CHECK(FoundIndex(image.fd()) == loop->index);
  LosetupDetach(sick.Release());
}

TEST_CASE("a search leaves no lease on the image") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  REQUIRE(FoundIndex(image.fd()) == -1);
  CHECK(::fcntl(image.fd(), F_GETLEASE) == F_UNLCK);
}

TEST_CASE("an image is found under another name and after it was unlinked") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const AttachedLoop loop(image.fd());
  REQUIRE(::linkat(directory.fd(), "image", directory.fd(), "alias", 0) == 0);
  const UniqueFd alias(::openat(directory.fd(), "alias", O_RDWR | O_CLOEXEC));
  CHECK(FoundIndex(alias.get()) == loop->index);
  REQUIRE(RemoveFileAt(directory.fd(), "image").ok());
  REQUIRE(RemoveFileAt(directory.fd(), "alias").ok());
  CHECK(FoundIndex(alias.get()) == loop->index);
}

TEST_CASE("each of several images has its own device") {
  const TempDirectory directory;
  const ImageFile first(directory.path("first"), kSize);
  const ImageFile second(directory.path("second"), 2 * kSize);
  const ImageFile third(directory.path("third"), kSize);
  const AttachedLoop first_loop(first.fd());
  const AttachedLoop second_loop(second.fd());
  CHECK(FoundIndex(first.fd(), second_loop->index) == first_loop->index);
  CHECK(FoundIndex(second.fd(), first_loop->index) == second_loop->index);
  CHECK(FoundIndex(third.fd(), first_loop->index) == -1);
  CHECK(FoundIndex(third.Open(O_RDWR).get()) == -1);  // a second opener: looks at all devices
}

TEST_CASE("images on every kind of host filesystem are found") {
  const auto [type, mkfs] = GENERATE(values<std::pair<std::string, std::vector<std::string>>>({
      {"ext4", {"mkfs.ext4", "-q"}},
      {"xfs", {"mkfs.xfs", "-q"}},
      {"btrfs", {"mkfs.btrfs", "-q"}},
  }));
  CAPTURE(type);
  const MountedFilesystem host(type, mkfs, 512 * kMiB);
  {
    const ImageFile image(host.path() + "/image", kSize);
    CHECK(FoundIndex(image.fd()) == -1);
    const AttachedLoop loop(image.fd());
    CHECK(FoundIndex(image.fd()) == loop->index);
    CHECK(FoundIndex(image.Open(O_RDONLY).get(), loop->index) == loop->index);
  }
}

TEST_CASE("an image that is attached twice in one name is refused") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const AttachedLoop first(image.fd(), {.label = "mine"});
  const AttachedLoop second(image.fd(), {.label = "mine"});
  const auto found = FindLoops(image.fd(), "mine");
  CHECK(found.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(found.status()),
             Catch::Contains(first->block.path) && Catch::Contains(second->block.path));
}

TEST_CASE("a device of another label, or on a part of the image, is another's") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const auto options = GENERATE(values<std::vector<std::string>>(
      {{}, {"--offset=4096"}, {"--sizelimit=8192"}, {"--read-only"}}));
  const LoopDevice foreign = Losetup(options, image);
  for (const int hint : {-1, foreign.index}) {
    const auto loops = FindLoops(image.fd(), "mine", hint);
    REQUIRE(loops.ok());
    CHECK_FALSE(loops->own.has_value());
    CHECK(loops->other->index == foreign.index);
  }
  {
    const AttachedLoop own(image.fd(), {.label = "mine"});
    for (const int hint : {-1, foreign.index, own->index}) {
      const auto loops = FindLoops(image.fd(), "mine", hint);
      REQUIRE(loops.ok());
      CHECK(loops->own->index == own->index);
      CHECK(loops->other.has_value() == (hint != own->index));
    }
    const LoopDevice mistaken{.index = foreign.index, .block = foreign.block, .label = "mine"};
    CHECK(DetachLoop(mistaken).ok());
    CHECK(SysfsText(foreign.index, "loop/offset") != "");  // attached as before
  }
  LosetupDetach(foreign);
}

TEST_CASE("a read-only attachment refuses writes and is found from a read-only descriptor") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const UniqueFd reader = image.Open(O_RDONLY);
  const AttachedLoop loop(reader.get(), {.read_only = true});
  CHECK(loop->block.read_only);
  const UniqueFd node(::open(loop->block.path.c_str(), O_RDWR | O_CLOEXEC));
  CHECK((!node.valid() || ::pwrite(node.get(), "x", 1, 0) < 0 || ::fsync(node.get()) != 0));
  char byte = 1;
  REQUIRE(::pread(reader.get(), &byte, 1, 0) == 1);
  CHECK(byte == 0);
  CHECK(FoundIndex(reader.get()) == loop->index);
}

TEST_CASE("an image that is open for reading only is not attached for writing by accident") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const AttachedLoop loop(image.Open(O_RDWR).get());
  CHECK_FALSE(loop->block.read_only);
  CHECK(SysfsText(loop->index, "ro") == "0");
}

TEST_CASE("sector size and direct I/O are as asked") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const auto sector_size = GENERATE(values<std::uint32_t>({512, 4096}));
  const auto direct_io = GENERATE(false, true);
  const AttachedLoop loop(image.fd(), {.sector_size = sector_size, .direct_io = direct_io});
  CHECK(SysfsText(loop->index, "queue/logical_block_size") == std::to_string(sector_size));
  CHECK(SysfsText(loop->index, "loop/dio") == (loop->direct_io ? "1" : "0"));
  if (!direct_io) CHECK_FALSE(loop->direct_io);
}

TEST_CASE("direct I/O in smaller units than the host's device falls back to buffered") {
  const MountedFilesystem host("ext4", {"mkfs.ext4", "-q"}, 256 * kMiB, {.sector_size = 4096});
  {
    const ImageFile image(host.path() + "/image", kSize);
    const AttachedLoop small(image.fd(), {.sector_size = 512, .direct_io = true});
    CHECK_FALSE(small->direct_io);
  }
  {
    const ImageFile image(host.path() + "/image", kSize);
    const AttachedLoop large(image.fd(), {.sector_size = 4096, .direct_io = true});
    CHECK(large->direct_io);
  }
}

TEST_CASE("a device that is open stays attached and does not vanish when it is closed") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const AttachedLoop loop(image.fd());
  {
    const UniqueFd opener = OpenNode(loop.get(), O_RDONLY);
    const absl::Status status = DetachLoop(loop.get());
    CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(MessageOf(status), Catch::Contains(loop->block.path));
    CHECK(SysfsText(loop->index, "loop/autoclear") == "0");
  }
  CHECK(FoundIndex(image.fd()) == loop->index);
}

TEST_CASE("a mounted device stays attached") {
  const MountedFilesystem host("ext4", {"mkfs.ext4", "-q"}, kSize);
  CHECK(DetachLoop(host.loop()).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(SysfsText(host.loop().index, "loop/autoclear") == "0");
  const UniqueFd root = host.Root();
  CHECK(WriteFileDurably(root.get(), "file", "still here").ok());
  CHECK(RemoveFileAt(root.get(), "file").ok());
}

TEST_CASE("a grown image shows its new size after a refresh") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const AttachedLoop loop(image.fd());
  REQUIRE(::ftruncate(image.fd(), 2 * kSize) == 0);
  CHECK(InspectBlockDevice(loop->block.path)->size == kSize);
  const auto size = RefreshLoop(loop.get());
  REQUIRE(size.ok());
  CHECK(*size == 2 * kSize);
  CHECK(InspectBlockDevice(loop->block.path)->size == 2 * kSize);
  LoopDevice absent;
  absent.index = 1'000'000;
  CHECK(RefreshLoop(absent).status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("a number that somebody holds without using it does not stop an attachment") {
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  const int index = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
  REQUIRE(index >= 0);
  const UniqueFd squatter(
      ::open(fmt::format("/dev/loop{}", index).c_str(), O_RDWR | O_EXCL | O_CLOEXEC));
  REQUIRE(squatter.valid());
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  // Occupies the gaps below the squatted number, so that the kernel still offers that number.
  std::vector<std::unique_ptr<AttachedLoop>> loops;
  do {
    loops.push_back(std::make_unique<AttachedLoop>(image.fd()));
    CHECK((*loops.back())->index != index);
  } while ((*loops.back())->index < index);

  // Other free numbers are used before new ones are made, so that they do not pile up.
  loops.pop_back();
  std::set<std::string> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block")) {
    numbers.insert(entry.path().filename());
  }
  const AttachedLoop loop(image.fd());
  CHECK(loop->index != index);
  CHECK(numbers.contains(fmt::format("loop{}", loop->index)));
}

// A /dev in which the kernel's nodes do not appear, as in a container.
class BareDev final {
 public:
  BareDev() {
    REQUIRE(::mount("tmpfs", "/dev", "tmpfs", 0, "mode=755") == 0);
    REQUIRE(::mknod("/dev/loop-control", S_IFCHR | 0600, makedev(10, 237)) == 0);
  }
  BareDev(const BareDev&) = delete;
  BareDev& operator=(const BareDev&) = delete;
  ~BareDev() { ::umount2("/dev", 0); }
};

TEST_CASE("missing nodes are made") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const BareDev dev;
  const AttachedLoop loop(image.fd());
  CHECK(loop->block.size == kSize);
  REQUIRE(::unlink(loop->block.path.c_str()) == 0);
  CHECK(FoundIndex(image.fd()) == loop->index);
}

TEST_CASE("what cannot be attached is an internal error and leaves nothing attached") {
  const TempDirectory directory;
  CHECK(AttachLoop(directory.fd(), {.read_only = true}).status().code() ==
        absl::StatusCode::kInternal);
  CHECK(AttachLoop(-1, {}).status().code() == absl::StatusCode::kInternal);
  CHECK(FindLoop(-1).status().code() == absl::StatusCode::kInternal);
  const ImageFile image(directory.path("image"), kSize);
  CHECK(AttachLoop(image.fd(), {.sector_size = 513}).status().code() ==
        absl::StatusCode::kInternal);
  CHECK(FoundIndex(image.Open(O_RDWR).get()) == -1);
}

TEST_CASE("threads attach and detach side by side, never on one device") {
  constexpr int kThreads = 8;
  constexpr int kRounds = 10;
  const TempDirectory directory;
  std::vector<std::string> failures(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back(
        [&directory, &failure = failures[static_cast<std::size_t>(thread)], thread] {
          const std::string path = directory.path(fmt::format("image{}", thread));
          const Bytes size = (thread + 1) * kMiB;  // shows whose device it is
          const UniqueFd image(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
          if (::ftruncate(image.get(), size) != 0) failure = "no image";
          for (int round = 0; round < kRounds && failure.empty(); ++round) {
            const auto loop = AttachLoop(image.get(), {.discard = round % 2 == 0});
            if (!loop.ok()) {
              failure = loop.status().ToString();
              continue;
            }
            const auto found = FindLoop(image.get());
            if (!found.ok() || !found->has_value())
              failure = "not found: " + found.status().ToString();
            if (found.ok() && found->has_value() && (*found)->block.size != size)
              failure = "not ours";
            const absl::Status detached = DetachLoop(*loop);
            if (!detached.ok()) failure = detached.ToString();
            if (failure.empty() && FindLoop(image.get())->has_value()) failure = "still attached";
          }
        });
  }
  threads.clear();
  CHECK(failures == std::vector<std::string>(kThreads));
}

TEST_CASE("a number whose node is mounted somewhere is not attached to") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kSize);
  const bool discard = GENERATE(false, true);
  AttachedLoop first(image.fd(), {.discard = discard});
  const int index = first->index;
  const std::string place = directory.path("published");
  std::filesystem::copy_file(image.path(), place);
  REQUIRE(::mount(first->block.path.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0);
  CHECK(BoundNodes::Read()->Has(fmt::format("loop{}", index)));
  REQUIRE(DetachLoop(first.Release()).ok());
  {
    const AttachedLoop second(image.fd(), {.discard = discard});
    CHECK(second->index != index);
    const AttachedLoop third(image.fd(), {.discard = discard});
    CHECK(third->index != index);
  }
  REQUIRE(::umount2(place.c_str(), UMOUNT_NOFOLLOW) == 0);
  CHECK_FALSE(BoundNodes::Read()->Has(fmt::format("loop{}", index)));
}

}  // namespace loop_device_test
}  // namespace holdfast::os
