// SPDX-License-Identifier: Apache-2.0
// Growth of ext3 and ext4 before the mount, whatever this process may do while they are mounted.
#include "fs/ext_growth.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/ext_undo.h"
#include "fs/filesystem.h"
#include "os/capabilities.h"
#include "support/captured_stderr.h"
#include "support/formatted_volume.h"
#include "support/outcome.h"

namespace holdfast::fs {
namespace ext_growth_test {

using test::FormattedVolume;
using test::ReadFile;
using test::Value;
using test::WriteFile;

constexpr Bytes kSize = 64 * kMiB;

ExtSuperblock Superblock(const FormattedVolume& volume) {
  return Value(ReadExtSuperblock(volume.device(), Mounted::kNo));
}

void Run(const std::vector<std::string>& argv) {
  REQUIRE_OK(os::RunCommandOrFail(argv, std::chrono::minutes(2)));
}

void CheckSound(const FormattedVolume& volume) {
  Run({"e2fsck", "-f", "-n", volume.device().path});
}

absl::Status GrowWith(const FormattedVolume& volume, const std::string& undo_path,
                      const GrowthLimits& limits = {}) {
  const ExtSuperblock superblock = Superblock(volume);
  return GrowUnmounted(volume.device(), superblock,
                       ReachableBlocks(superblock, volume.device().size), undo_path, limits);
}

absl::Status Grow(const FormattedVolume& volume, const GrowthLimits& limits = {}) {
  return GrowWith(volume, volume.undo_path(), limits);
}

// A place where nothing is written to a disk synchronously, which is slow for ext3.
std::string FastUndoPath() { return fmt::format("/dev/shm/holdfast-test-{}.undo", ::getpid()); }

void MakeWithFile(FormattedVolume& volume, std::vector<std::string> options = {}) {
  volume.Make({.uuid = "", .extra = std::move(options)});
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  volume.Unmount();
}

void CheckFile(FormattedVolume& volume) {
  volume.Mount();
  CHECK(ReadFile(volume.path() + "/file") == "content");
  volume.Unmount();
}

bool IsThere(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

TEST_CASE("ext of every block size is sound after each growth") {
  const std::string type = GENERATE("ext3", "ext4");
  const std::string block_size = GENERATE("1024", "2048", "4096");
  CAPTURE(type, block_size);
  FormattedVolume volume(type, kSize);
  MakeWithFile(volume, {"-b", block_size});
  Bytes size = kSize;
  for (const Bytes step :
       {4 * kKiB, 8 * kKiB, 60 * kKiB, kMiB, 7 * kMiB, 8 * kMiB + 4 * kKiB, 100 * kMiB}) {
    size += step;
    CAPTURE(size);
    volume.Enlarge(size);
    REQUIRE_OK(GrowWith(volume, FastUndoPath()));
    const ExtSuperblock after = Superblock(volume);
    CHECK(after.blocks == ReachableBlocks(after, size));
    CHECK_FALSE(IsThere(FastUndoPath()));
    CheckSound(volume);
  }
  CheckFile(volume);
}

// As tests/crash does it for blocks of 4 KiB at each write; here it is the last moment.
TEST_CASE("an interrupted growth is undone for every block size") {
  const std::string type = GENERATE("ext3", "ext4");
  const std::string block_size = GENERATE("1024", "2048", "4096");
  CAPTURE(type, block_size);
  FormattedVolume volume(type, kSize);
  MakeWithFile(volume, {"-b", block_size});
  volume.Enlarge(2 * kSize);
  Run({"e2fsck", "-f", "-p", volume.device().path});
  const std::string before = volume.ReadDevice(0, static_cast<std::size_t>(2 * kSize));
  Run({"resize2fs", "-z", volume.undo_path(), volume.device().path});
  CHECK(volume.ReadDevice(0, static_cast<std::size_t>(2 * kSize)) != before);
  REQUIRE_OK(UndoInterrupted(volume.device(), volume.undo_path()));
  CHECK(volume.ReadDevice(0, static_cast<std::size_t>(2 * kSize)) == before);
  REQUIRE_OK(GrowWith(volume, FastUndoPath()));
  CheckSound(volume);
  CheckFile(volume);
}

TEST_CASE("the estimate of the undo file is rather too large") {
  struct Shape {
    std::string type, block_size;
    Bytes from, to;
  };
  const Shape shape = GENERATE(values<Shape>({
      {"ext4", "4096", 16 * kMiB, kGiB},
      {"ext4", "4096", kGiB, 200 * kGiB},
      {"ext4", "1024", 64 * kMiB, 10 * kGiB},
      {"ext3", "4096", 64 * kMiB, kGiB},
      {"ext3", "1024", 64 * kMiB, 300 * kMiB},
  }));
  CAPTURE(shape.type, shape.block_size, shape.from, shape.to);
  FormattedVolume volume(shape.type, shape.from);
  MakeWithFile(volume, {"-b", shape.block_size});
  volume.Enlarge(shape.to);
  Run({"e2fsck", "-f", "-p", volume.device().path});
  const ExtSuperblock superblock = Superblock(volume);
  const std::uint64_t blocks = ReachableBlocks(superblock, shape.to);
  Run({"resize2fs", "-z", volume.undo_path(), volume.device().path, fmt::to_string(blocks)});
  struct stat facts {};
  REQUIRE(::stat(volume.undo_path().c_str(), &facts) == 0);
  CHECK(EstimateUndoFile(superblock, blocks) >= facts.st_size);
  CHECK(EstimateUndoFile(superblock, blocks) < 6 * facts.st_size + kMiB);
}

TEST_CASE("a growth with too large an undo file is not begun") {
  FormattedVolume volume("ext3", kSize);
  MakeWithFile(volume);
  volume.Enlarge(20 * kGiB);
  const std::string before = volume.ReadDevice(0, kSize);
  CHECK_FAILS(Grow(volume), kResourceExhausted, "have to be saved first");
  CHECK(volume.ReadDevice(0, kSize) == before);
}

TEST_CASE("a growth is not begun where its undo file has no room") {
  FormattedVolume volume("ext3", kSize);
  MakeWithFile(volume);
  volume.Enlarge(500 * kMiB);  // some 13 MiB
  const std::string state = volume.undo_path() + "-state";
  REQUIRE(::mkdir(state.c_str(), 0700) == 0);
  REQUIRE(::mount("tmpfs", state.c_str(), "tmpfs", 0, "size=16m") == 0);
  const ExtSuperblock superblock = Superblock(volume);
  const absl::Status grown =
      GrowUnmounted(volume.device(), superblock, ReachableBlocks(superblock, volume.device().size),
                    state + "/undo");
  CHECK_FALSE(IsThere(state + "/undo"));
  REQUIRE(::umount2(state.c_str(), UMOUNT_NOFOLLOW) == 0);
  CHECK_FAILS(grown, kResourceExhausted, "has room for");
  CHECK(Superblock(volume).blocks == superblock.blocks);
}

TEST_CASE("a growth that takes too long is ended and undone") {
  FormattedVolume volume("ext3", kSize);
  MakeWithFile(volume);
  volume.Enlarge(kGiB);
  const std::uint64_t before = Superblock(volume).blocks;
  // At some moment of e2fsck or resize2fs.
  const int milliseconds = GENERATE(1, 30, 100, 300);
  const absl::Status grown =
      Grow(volume, {.undo_file = kGiB, .time = std::chrono::milliseconds(milliseconds)});
  REQUIRE_OK(UndoInterrupted(volume.device(), volume.undo_path()));
  CHECK_FALSE(IsThere(volume.undo_path()));
  if (!grown.ok()) CHECK(Superblock(volume).blocks == before);
  CheckSound(volume);
  CheckFile(volume);
}

// Beyond the group descriptors for which mke2fs reserved space, resize2fs 1.47 stops half-way, with
// or without -z.
TEST_CASE("a growth in which resize2fs fails is undone") {
  FormattedVolume volume("ext4", kSize);
  MakeWithFile(volume);
  volume.Enlarge(200 * kGiB);
  const std::uint64_t before = Superblock(volume).blocks;
  CHECK_FAILS(Grow(volume), kInternal, "resize2fs");
  REQUIRE_OK(UndoInterrupted(volume.device(), volume.undo_path()));
  CHECK(Superblock(volume).blocks == before);
  CheckSound(volume);
  CheckFile(volume);
  if (os::HasCapSysResource()) return;
  CHECK_FALSE(Value(volume.PrepareMount()));
  CheckFile(volume);
}

TEST_CASE("damage that the check before a growth finds is told apart") {
  FormattedVolume volume("ext4", kSize);
  MakeWithFile(volume);
  volume.Debugfs("set_inode_field /file mode 0170777");
  volume.Debugfs("set_inode_field /file block[0] 0xFFFFFF");
  volume.Debugfs("clri <2>");
  volume.Enlarge(2 * kSize);
  const std::uint64_t before = Superblock(volume).blocks;
  CHECK_FAILS(Grow(volume), kDataLoss, "e2fsck -f");
  CHECK(Superblock(volume).blocks == before);
  CHECK_FALSE(IsThere(volume.undo_path()));
  if (os::HasCapSysResource()) return;
  CHECK_FAILS(volume.PrepareMount(), kFailedPrecondition, "e2fsck -f");
}

TEST_CASE("a filesystem that cannot be grown before the mount is mounted as it is") {
  if (os::HasCapSysResource()) {
    WARN("skipped: it is grown while mounted");
    return;
  }
  FormattedVolume volume("ext3", kSize);
  MakeWithFile(volume);
  volume.Enlarge(20 * kGiB);
  const std::uint64_t before = Superblock(volume).blocks;
  test::CapturedStderr log;
  CHECK_FALSE(Value(volume.PrepareMount()));
  CHECK_THAT(log.text(), Catch::Contains("keeps its"));
  CHECK(Superblock(volume).blocks == before);
  CHECK_FALSE(IsThere(volume.undo_path()));
  volume.Mount();
  CHECK(ReadFile(volume.path() + "/file") == "content");
  CHECK(volume.CanGrow());
}

}  // namespace ext_growth_test
}  // namespace holdfast::fs
