// SPDX-License-Identifier: Apache-2.0
#include "fs/filesystem.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/formatted_volume.h"
#include "support/outcome.h"

namespace holdfast::fs {
namespace mkfs_traces_test {

using test::FormattedVolume;

struct Kind {
  std::string type;
  Bytes size;
  std::vector<std::string> options;
};

std::vector<Kind> Kinds() {
  return {{"ext4", 64 * kMiB, {}},
          {"ext4", 64 * kMiB, {"-b", "1024", "-O", "orphan_file"}},
          {"ext4", 64 * kMiB, {"-E", "lazy_itable_init=0,lazy_journal_init=0"}},
          {"ext3", 64 * kMiB, {}},
          {"xfs", 300 * kMiB, {}},
          {"xfs", 300 * kMiB, {"-l", "su=64k"}},
          {"xfs", 300 * kMiB, {"-l", "su=256k"}},
          {"xfs", 400 * kMiB, {"-s", "size=4096", "-m", "rmapbt=1"}},
          {"xfs", 300 * kMiB, {"-b", "size=1024", "-m", "reflink=0,finobt=0"}},
          {"btrfs", 256 * kMiB, {}},
          {"btrfs", 256 * kMiB, {"-M"}},
          {"btrfs", 256 * kMiB, {"-m", "single", "-R", "^free-space-tree"}}};
}

bool OfMkfsAlone(const FormattedVolume& volume) {
  return test::Value(volume.filesystem().IsOfMkfsAlone(volume.device()));
}

// As after a power cut: the bytes that had reached the image while it was mounted.
bool CopyIsOfMkfsAlone(const FormattedVolume& volume) {
  const test::TempDirectory directory;
  const std::string copy = directory.path("copy");
  REQUIRE_OK(os::RunCommandOrFail({"cp", "--sparse=always", volume.image().path(), copy},
                                  std::chrono::minutes(1)));
  const os::UniqueFd fd(::open(copy.c_str(), O_RDWR | O_CLOEXEC));
  const test::AttachedLoop loop(fd.get());
  return test::Value(volume.filesystem().IsOfMkfsAlone(loop->block));
}

TEST_CASE("a filesystem is told from mkfs's traces from its first mount for writing on") {
  for (const Kind& kind : Kinds()) {
    CAPTURE(kind.type, kind.options);
    FormattedVolume volume(kind.type, kind.size);
    volume.Make({.uuid = "", .extra = kind.options});
    CHECK(OfMkfsAlone(volume));
    volume.Mount();
    test::WriteFile(volume.path() + "/file", "data");
    CHECK_FALSE(CopyIsOfMkfsAlone(volume));
    volume.Unmount();
    CHECK_FALSE(OfMkfsAlone(volume));
  }
}

// On btrfs it may leave every byte as it was.
TEST_CASE("a mount that wrote nothing of a user counts as well") {
  for (const Kind& kind : Kinds()) {
    if (kind.type == "btrfs") continue;
    CAPTURE(kind.type, kind.options);
    FormattedVolume volume(kind.type, kind.size);
    volume.Make({.uuid = "", .extra = kind.options});
    volume.Mount();
    volume.Unmount();
    CHECK_FALSE(OfMkfsAlone(volume));
  }
}

TEST_CASE("programs that repair do not make a used filesystem look new") {
  const std::string type = GENERATE("ext4", "ext3", "xfs");
  FormattedVolume volume(type, 300 * kMiB);
  volume.Make();
  volume.Mount();
  volume.Unmount();
  const std::string& path = volume.device().path;
  const std::vector<std::vector<std::string>> commands =
      type == "xfs" ? std::vector<std::vector<std::string>>{{"xfs_repair", "-L", path}}
                    : std::vector<std::vector<std::string>>{{"e2fsck", "-f", "-y", path},
                                                            {"tune2fs", "-C", "0", path},
                                                            {"e2fsck", "-f", "-y", path}};
  for (const auto& command : commands) {
    REQUIRE_OK(os::RunCommandOrFail(command, std::chrono::minutes(1)));
  }
  CHECK_FALSE(OfMkfsAlone(volume));
}

TEST_CASE("what cannot be read as the filesystem is in doubt, not unused") {
  FormattedVolume volume("xfs", 300 * kMiB);
  volume.Make();
  CHECK_FALSE(test::Value(FindFilesystem("ext4")->IsOfMkfsAlone(volume.device())));
  SECTION("no internal log") { volume.WriteDevice(48, std::string(8, '\0')); }
  SECTION("a log beyond the device") { volume.WriteDevice(48, std::string(8, '\x7f')); }
  SECTION("impossible sizes") { volume.WriteDevice(124, "\xff"); }
  SECTION("blocks of no size") { volume.WriteDevice(4, std::string(4, '\0')); }
  CHECK_FALSE(OfMkfsAlone(volume));
}

}  // namespace mkfs_traces_test
}  // namespace holdfast::fs
