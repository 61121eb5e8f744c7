// SPDX-License-Identifier: Apache-2.0
// The work of e2fsck and resize2fs up to a kill is undone. tests/crash kills them at each of their
// writes; here the kill comes at the last moment, when all work is done and the undo file still
// exists.
#include "fs/ext_undo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/ext_superblock.h"
#include "fs/undo_file.h"
#include "support/formatted_volume.h"

namespace holdfast::fs {
namespace ext_undo_test {

using test::FormattedVolume;
using test::ReadFile;
using test::WriteFile;

constexpr Bytes kSize = 64 * kMiB;

bool IsThere(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::uint64_t BlocksOf(const FormattedVolume& volume) {
  const auto superblock = ReadExtSuperblock(volume.device(), Mounted::kNo);
  INFO(superblock.status());
  REQUIRE(superblock.ok());
  return superblock->blocks;
}

void Run(const std::vector<std::string>& argv) {
  const absl::Status status = os::RunCommandOrFail(argv, std::chrono::minutes(1));
  INFO(status);
  REQUIRE(status.ok());
}

// A volume with a file, grown by a resize2fs that could not remove its undo file.
void MakeHalfGrown(FormattedVolume& volume, Bytes to = 2 * kSize) {
  volume.Make();
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  volume.Unmount();
  volume.Enlarge(to);
  Run({"e2fsck", "-f", "-p", volume.device().path});
  Run({"resize2fs", "-z", volume.undo_path(), volume.device().path});
}

TEST_CASE("an interrupted growth is undone, to its end") {
  FormattedVolume volume("ext4", kSize);
  const bool again = GENERATE(false, true);
  MakeHalfGrown(volume);
  const std::uint64_t grown = BlocksOf(volume);
  // As a kill of e2undo leaves it.
  const std::string used = volume.undo_path() + ".used";
  if (again) REQUIRE(::rename(volume.undo_path().c_str(), used.c_str()) == 0);
  const absl::Status undone =
      volume.filesystem().UndoInterrupted(volume.device(), volume.undo_path());
  INFO(undone);
  REQUIRE(undone.ok());
  CHECK(BlocksOf(volume) < grown);
  CHECK_FALSE(IsThere(volume.undo_path()));
  CHECK_FALSE(IsThere(used));
  CHECK(UndoInterrupted(volume.device(), volume.undo_path()).ok());
  Run({"e2fsck", "-f", "-n", volume.device().path});
  REQUIRE(volume.PrepareMount().ok());
  CHECK_FALSE(IsThere(volume.undo_path()));
  volume.Mount();
  CHECK(ReadFile(volume.path() + "/file") == "content");
}

TEST_CASE("nothing is undone where the filesystem was used since") {
  FormattedVolume volume("ext4", kSize);
  MakeHalfGrown(volume);
  volume.Mount();
  WriteFile(volume.path() + "/later", "later");
  volume.Unmount();
  const std::uint64_t grown = BlocksOf(volume);
  REQUIRE(UndoInterrupted(volume.device(), volume.undo_path()).ok());
  CHECK(BlocksOf(volume) == grown);
  CHECK_FALSE(IsThere(volume.undo_path()));
  volume.Mount();
  CHECK(ReadFile(volume.path() + "/later") == "later");
}

// As resize2fs of e2fsprogs 1.47 does when a write of half the superblock fails.
TEST_CASE("a growth that only says that it went well is undone") {
  FormattedVolume volume("ext4", kSize);
  volume.Make();
  const std::uint64_t before = BlocksOf(volume);
  volume.Enlarge(2 * kSize);
  Run({"e2fsck", "-f", "-p", volume.device().path});
  const test::TempDirectory directory;
  const std::string liar = directory.path("resize2fs");
  WriteFile(liar,
            "#!/bin/sh\n"
            "resize2fs \"$@\"\n"
            "printf xxxx | dd of=\"$3\" bs=1 seek=2044 conv=notrunc status=none\n");
  REQUIRE(::chmod(liar.c_str(), 0700) == 0);
  const auto result = RunWithUndo({.argv = {liar, volume.device().path},
                                   .successes = 0,
                                   .deadline = std::chrono::minutes(1),
                                   .changes_superblocks_only = false,
                                   .verify = nullptr},
                                  volume.device(), volume.undo_path());
  CHECK(absl::IsInternal(result.status()));
  INFO(result.status());
  CHECK(BlocksOf(volume) == before);
  CHECK_FALSE(IsThere(volume.undo_path()));
  Run({"e2fsck", "-f", "-n", volume.device().path});
}

// A filesystem in which a program has torn the superblock, the last 1 KiB of 2, after it was saved.
std::string TearSuperblock(const test::TempDirectory& directory, const char* end) {
  const std::string program = directory.path("tear");
  WriteFile(program,
            fmt::format("#!/bin/sh\n"
                        "printf xxxx | dd of=\"$1\" bs=1 seek=2044 conv=notrunc status=none\n"
                        "{}\n",
                        end));
  REQUIRE(::chmod(program.c_str(), 0700) == 0);
  return program;
}

TEST_CASE("a torn change of the superblock alone is undone, for every block size") {
  const char* const block_size = GENERATE("1024", "2048", "4096");
  FormattedVolume volume("ext4", kSize);
  Run({"mkfs.ext4", "-q", "-F", "-b", block_size, volume.device().path});
  const std::string before = volume.ReadDevice(0, 8192);
  const test::TempDirectory directory;
  const auto result =
      RunWithUndo({.argv = {TearSuperblock(directory, "exit 0"), volume.device().path},
                   .successes = 0,
                   .deadline = std::chrono::minutes(1),
                   .changes_superblocks_only = true,
                   .verify = nullptr},
                  volume.device(), volume.undo_path());
  INFO(result.status());
  CHECK(absl::IsInternal(result.status()));
  CHECK(volume.ReadDevice(0, 8192) == before);
  CHECK_FALSE(IsThere(volume.undo_path()));
}

TEST_CASE("a saved superblock is read as the undo file of e2fsprogs that it is") {
  FormattedVolume volume("ext4", kSize);
  volume.Make();
  const std::string before = volume.ReadDevice(0, 8192);
  REQUIRE(UndoFile::SaveSuperblock(volume.device(), volume.undo_path()).ok());
  const test::TempDirectory directory;
  Run({TearSuperblock(directory, "exit 0"), volume.device().path});
  SECTION("after a power cut, by the next stage") {
    REQUIRE(UndoInterrupted(volume.device(), volume.undo_path()).ok());
    CHECK_FALSE(IsThere(volume.undo_path()));
    CHECK(volume.ReadDevice(0, 8192) == before);
  }
  SECTION("by a person") {
    Run({"e2undo", "-f", volume.undo_path(), volume.device().path});
    CHECK(ReadExtSuperblock(volume.device(), Mounted::kNo).ok());
  }
}

TEST_CASE("what a kill left of a file that was being made is removed") {
  FormattedVolume volume("ext4", kSize);
  volume.Make();
  const std::string unfinished = volume.undo_path() + ".tmp";
  WriteFile(unfinished, "E2UN");
  REQUIRE(UndoInterrupted(volume.device(), volume.undo_path()).ok());
  CHECK_FALSE(IsThere(unfinished));
}

// e2undo of e2fsprogs 1.47 ends with 0 when a block cannot be written.
TEST_CASE("an undo file stays until all that it says is back on the device") {
  FormattedVolume volume("ext4", kSize);
  constexpr Bytes kSecondGroup = 4 * kSize;
  MakeHalfGrown(volume, kSecondGroup);
  const std::uint64_t grown = BlocksOf(volume);
  const std::string used = volume.undo_path() + ".used";
  // The device has lost its end, which the growth wrote to.
  volume.Enlarge(kSize);
  const absl::Status failed = UndoInterrupted(volume.device(), volume.undo_path());
  INFO(failed);
  CHECK(absl::IsInternal(failed));
  REQUIRE(IsThere(used));
  CHECK(absl::IsInternal(volume.filesystem().UndoInterrupted(volume.device(), volume.undo_path())));
  CHECK(BlocksOf(volume) == grown);  // nothing is restored as long as a part cannot be restored
  volume.Enlarge(kSecondGroup);
  REQUIRE(UndoInterrupted(volume.device(), volume.undo_path()).ok());
  CHECK_FALSE(IsThere(used));
  CHECK(BlocksOf(volume) < grown);
  Run({"e2fsck", "-f", "-n", volume.device().path});
}

TEST_CASE("a write-protected device keeps its undo file") {
  FormattedVolume volume("ext4", kSize);
  MakeHalfGrown(volume);
  REQUIRE(os::SetReadOnly(volume.device(), true).ok());
  CHECK(absl::IsInternal(UndoInterrupted(volume.device(), volume.undo_path())));
  CHECK(IsThere(volume.undo_path() + ".used"));
  REQUIRE(os::SetReadOnly(volume.device(), false).ok());
  REQUIRE(UndoInterrupted(volume.device(), volume.undo_path()).ok());
  Run({"e2fsck", "-f", "-n", volume.device().path});
}

TEST_CASE("a damaged undo file is left, with the device as it is") {
  FormattedVolume volume("ext4", kSize);
  MakeHalfGrown(volume);
  const std::uint64_t grown = BlocksOf(volume);
  const off_t offset = GENERATE(8, 3 * 4096 + 100);  // the header, a piece
  const os::UniqueFd file(::open(volume.undo_path().c_str(), O_RDWR | O_CLOEXEC));
  unsigned char byte = 0;
  REQUIRE(::pread(file.get(), &byte, 1, offset) == 1);
  byte ^= 1U;
  REQUIRE(::pwrite(file.get(), &byte, 1, offset) == 1);
  CHECK(absl::IsInternal(UndoInterrupted(volume.device(), volume.undo_path())));
  CHECK(BlocksOf(volume) == grown);
  CHECK((IsThere(volume.undo_path()) || IsThere(volume.undo_path() + ".used")));
}

TEST_CASE("an undo file of a program that changed nothing goes") {
  FormattedVolume volume("ext4", kSize);
  volume.Make();
  const std::string content =
      GENERATE(std::string(), std::string(512, '\0'), std::string(8192, '\0'));
  WriteFile(volume.undo_path(), content);
  REQUIRE(UndoInterrupted(volume.device(), volume.undo_path()).ok());
  CHECK_FALSE(IsThere(volume.undo_path()));
}

TEST_CASE("what a program that is stopped at its deadline did is undone") {
  FormattedVolume volume("ext4", kSize);
  volume.Make();
  const std::string before = volume.ReadDevice(0, kSize);
  const test::TempDirectory directory;
  const std::string slow = directory.path("tune2fs");
  WriteFile(slow, "#!/bin/sh\ntune2fs \"$1\" \"$2\" -L changed \"$3\"\nexec sleep 600\n");
  REQUIRE(::chmod(slow.c_str(), 0700) == 0);
  const auto result = RunWithUndo({.argv = {slow, volume.device().path},
                                   .successes = 0,
                                   .deadline = std::chrono::seconds(2),
                                   .changes_superblocks_only = false,
                                   .verify = nullptr},
                                  volume.device(), volume.undo_path());
  CHECK(absl::IsInternal(result.status()));
  CHECK_FALSE(IsThere(volume.undo_path()));
  CHECK(volume.ReadDevice(0, kSize) == before);
}

TEST_CASE("an undo file is written through to the disk") {
  FormattedVolume volume("ext4", kSize);
  volume.Make();
  const test::TempDirectory directory;
  const std::string looker = directory.path("looker");
  const std::string seen = directory.path("seen");
  WriteFile(looker, "#!/bin/sh\nlsattr -d \"$2\" >" + seen + "\nexit 0\n");
  REQUIRE(::chmod(looker.c_str(), 0700) == 0);
  const auto run = [&](const std::string& undo_path) {
    return RunWithUndo({.argv = {looker, volume.device().path},
                        .successes = 0,
                        .deadline = std::chrono::minutes(1),
                        .changes_superblocks_only = false,
                        .verify = nullptr},
                       volume.device(), undo_path);
  };
  SECTION("on a filesystem that can") {
    REQUIRE(run(volume.undo_path()).ok());
    CHECK(ReadFile(seen).starts_with("--S"));
  }
  SECTION("and elsewhere as well as it can be") {
    const std::string undo_path = fmt::format("/dev/shm/holdfast-test-{}.undo", ::getpid());
    const auto result = run(undo_path);
    INFO(result.status());
    CHECK(result.ok());
    CHECK_FALSE(IsThere(undo_path));
  }
}

}  // namespace ext_undo_test
}  // namespace holdfast::fs
