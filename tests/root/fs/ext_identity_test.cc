// SPDX-License-Identifier: Apache-2.0
// Copies of an ext4: those that were left clean need no repair before they get another UUID.
#include "fs/ext_identity.h"

#include <fcntl.h>
#include <unistd.h>

#include <regex>

#include "core/volume_id.h"
#include "fs/ext_superblock.h"
#include "fs/ext_undo.h"
#include "fs/filesystem.h"
#include "fs/probe.h"
#include "support/formatted_volume.h"
#include "support/outcome.h"

namespace holdfast::fs {
namespace ext_identity_test {

using test::FormattedVolume;
using test::ReadFile;
using test::WriteFile;

constexpr Bytes kSize = 64 * kMiB;

// Everything that the device has now, also of a mounted filesystem.
void CopyDevice(const FormattedVolume& from, const FormattedVolume& to) {
  const os::UniqueFd fd(::open(to.device().path.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(fd.valid());
  for (Bytes offset = 0; offset < kSize; offset += kMiB) {
    const std::string bytes = from.ReadDevice(offset, static_cast<std::size_t>(kMiB));
    REQUIRE(::pwrite(fd.get(), bytes.data(), bytes.size(), offset) == kMiB);
  }
  REQUIRE(::fsync(fd.get()) == 0);
}

void RequireAnotherUuid(FormattedVolume& copy, const std::string& content) {
  REQUIRE_OK(FindFilesystem("ext4")->ChangeUuid(copy.device(), copy.uuid(), copy.undo_path()));
  REQUIRE_OK(RequireFilesystem(copy.device(), "ext4", copy.uuid()));
  CHECK(IsCleanExt(copy.device()));
  copy.Mount();
  CHECK(ReadFile(copy.path() + "/kept") == content);
}

TEST_CASE("a copy of an ext4 that was in use gets another UUID and keeps what was fsynced") {
  FormattedVolume origin("ext4", kSize);
  origin.Make();
  origin.Mount();
  WriteFile(origin.path() + "/kept", "content");
  const os::UniqueFd kept(::open((origin.path() + "/kept").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::fsync(kept.get()) == 0);
  FormattedVolume in_use("ext4", kSize);
  CopyDevice(origin, in_use);
  CHECK_FALSE(IsCleanExt(in_use.device()));  // its journal has to be replayed
  RequireAnotherUuid(in_use, "content");
}

TEST_CASE("a copy of an ext4 that was unmounted is clean") {
  FormattedVolume origin("ext4", kSize);
  origin.Make();
  origin.Mount();
  WriteFile(origin.path() + "/kept", "content");
  origin.Unmount();
  FormattedVolume copy("ext4", kSize);
  CopyDevice(origin, copy);
  CHECK(IsCleanExt(copy.device()));
  RequireAnotherUuid(copy, "content");
}

// What a person would use if the first superblock were lost.
std::string UuidOfBackup(const FormattedVolume& volume) {
  const auto shown = os::RunCommand(
      {"dumpe2fs", "-h", "-o", "superblock=32768", "-o", "blocksize=4096", volume.device().path},
      std::chrono::seconds(30));
  REQUIRE_OK(shown);
  static const std::regex kUuid("Filesystem UUID: +([-0-9a-f]+)");
  std::smatch found;
  REQUIRE(std::regex_search(shown->output, found, kUuid));
  return found[1];
}

void RequireSound(const FormattedVolume& volume) {
  const auto checked =
      os::RunCommand({"e2fsck", "-f", "-n", volume.device().path}, std::chrono::seconds(30));
  REQUIRE_OK(checked);
  INFO(checked->output);
  CHECK(checked->exit_code == 0);
}

TEST_CASE("one write gives an ext4 another UUID") {
  constexpr Bytes kWithBackup = 256 * kMiB;
  FormattedVolume volume("ext4", kWithBackup, {.sector_size = GENERATE(512U, 4096U)});
  volume.Make();
  const std::string uuid = RandomUuid();
  const std::string before = volume.ReadDevice(1024, 1024);

  SECTION("of a clean filesystem") {
    CHECK(CanWriteExtUuid(volume.device()));
    REQUIRE_OK(ChangeUuidUnmounted(volume.device(), uuid, volume.undo_path()));
    REQUIRE_OK(RequireFilesystem(volume.device(), "ext4", uuid));
    CHECK(UuidOfBackup(volume) == volume.uuid());
    RequireSound(volume);
  }
  SECTION("not of one that was not left clean") {
    std::string superblock = before;
    superblock[58] = 0;  // s_state
    volume.WriteDevice(1024, superblock);
    CHECK_FALSE(CanWriteExtUuid(volume.device()));
    CHECK_FAILS(WriteExtUuid(volume.device(), uuid), kFailedPrecondition, "superblock");
    CHECK(volume.ReadDevice(1024, 1024) == superblock);
  }
  SECTION("not while it is mounted") {
    volume.Mount();
    CHECK_FALSE(WriteExtUuid(volume.device(), uuid).ok());
  }
  SECTION("a half that a power cut left is undone") {
    const Bytes half = GENERATE(0, 512);
    const absl::Status cut = ChangeSuperblockWithUndo(volume.device(), volume.undo_path(), [&] {
      REQUIRE_OK(WriteExtUuid(volume.device(), uuid));
      // The undo file is still there then.
      volume.WriteDevice(1024 + half, before.substr(static_cast<std::size_t>(half), 512));
      REQUIRE(::rename(volume.undo_path().c_str(), (volume.undo_path() + ".kept").c_str()) == 0);
      return absl::OkStatus();
    });
    REQUIRE_OK(cut);
    REQUIRE(::rename((volume.undo_path() + ".kept").c_str(), volume.undo_path().c_str()) == 0);
    CHECK(volume.ReadDevice(1024, 1024) != before);
    REQUIRE_OK(FindFilesystem("ext4")->UndoInterrupted(volume.device(), volume.undo_path()));
    CHECK(volume.ReadDevice(1024, 1024) == before);
  }
}

}  // namespace ext_identity_test
}  // namespace holdfast::fs
