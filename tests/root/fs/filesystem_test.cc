// SPDX-License-Identifier: Apache-2.0
#include "fs/filesystem.h"

#include <fcntl.h>
#include <unistd.h>

#include "fs/ext_superblock.h"
#include "fs/probe.h"
#include "support/formatted_volume.h"

namespace holdfast::fs {
namespace filesystem_test {

using test::FormattedVolume;
using test::ReadFile;
using test::WriteFile;

unsigned LittleEndian16(const std::string& bytes) {
  return static_cast<unsigned char>(bytes[0]) | static_cast<unsigned char>(bytes[1]) << 8U;
}

TEST_CASE("filesystems are found by name") {
  CHECK(SupportedFilesystems() == std::vector<std::string>{"ext4", "ext3", "xfs", "btrfs"});
  for (const std::string& name : SupportedFilesystems()) {
    REQUIRE(FindFilesystem(name) != nullptr);
    CHECK(FindFilesystem(name)->name() == name);
    CHECK(FindFilesystem(name)->programs().front() == "mkfs." + name);
  }
  CHECK(FindFilesystem("ext2") == nullptr);
  CHECK(FindFilesystem("") == nullptr);
}

TEST_CASE("the smallest device is formatted, mounted and written") {
  const std::string type = GENERATE("ext4", "ext3", "xfs", "btrfs");
  const bool keep_allocation = GENERATE(true, false);
  CAPTURE(type, keep_allocation);
  FormattedVolume volume(type, FindFilesystem(type)->min_size());
  volume.Make({.uuid = "", .keep_allocation = keep_allocation, .extra = {}});
  CHECK(RequireFilesystem(volume.device(), type, volume.uuid()).ok());
  CHECK(volume.PrepareMount().ok());
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  CHECK_FALSE(volume.CanGrow());
  volume.Unmount();
  volume.Mount();
  CHECK(ReadFile(volume.path() + "/file") == "content");
}

TEST_CASE("the smallest ext has a journal, blocks of 4 KiB and no reserve for root") {
  const std::string type = GENERATE("ext4", "ext3");
  FormattedVolume volume(type, FindFilesystem(type)->min_size());
  volume.Make();
  CHECK((LittleEndian16(volume.ReadDevice(1024 + 0x5C, 2)) & 4) != 0);  // has_journal
  CHECK(LittleEndian16(volume.ReadDevice(1024 + 0x18, 2)) == 2);        // 1 KiB << 2
  CHECK(volume.ReadDevice(1024 + 0x08, 4) == std::string(4, '\0'));     // reserved blocks
}

TEST_CASE("formatting a thick volume keeps every block") {
  const std::string type = GENERATE("ext4", "ext3", "xfs", "btrfs");
  CAPTURE(type);
  const Bytes size = 320 * kMiB;
  FormattedVolume volume(type, size);
  REQUIRE(::fallocate(volume.image().fd(), 0, 0, size) == 0);
  REQUIRE(volume.image().AllocatedBytes() >= size);
  SECTION("as asked") {
    volume.Make({.uuid = "", .keep_allocation = true, .extra = {}});
    CHECK(volume.image().AllocatedBytes() >= size);
  }
  SECTION("also with the user's own options") {
    const std::string text = type.starts_with("ext") ? "-E stride=4" : "-s 4096";
    const auto extra = volume.filesystem().ParseMkfsOptions(type == "xfs" ? "-m rmapbt=1" : text);
    REQUIRE(extra.ok());
    volume.Make({.uuid = "", .keep_allocation = true, .extra = *extra});
    CHECK(RequireFilesystem(volume.device(), type, volume.uuid()).ok());
    CHECK(volume.image().AllocatedBytes() >= size);
  }
  SECTION("and a thin one gives blocks back, so the check can fail") {
    volume.Make({.uuid = "", .keep_allocation = false, .extra = {}});
    CHECK(volume.image().AllocatedBytes() < size / 2);
  }
}

TEST_CASE("the user's mkfs options win over the defaults") {
  FormattedVolume volume("ext4", 64 * kMiB);
  const auto extra = volume.filesystem().ParseMkfsOptions("-b 1024 -E stride=4 -m 5");
  REQUIRE(extra.ok());
  volume.Make({.uuid = "", .extra = *extra});
  CHECK(LittleEndian16(volume.ReadDevice(1024 + 0x18, 2)) == 0);           // blocks of 1 KiB
  CHECK(LittleEndian16(volume.ReadDevice(1024 + 0x164, 2)) == 4);          // stride
  CHECK(LittleEndian16(volume.ReadDevice(1024 + 0x08, 2)) == 65536 / 20);  // reserved blocks
}

TEST_CASE("mkfs takes every option that is allowed") {
  const auto [type, text] = GENERATE(table<std::string, std::string>({
      {"ext4", "-b 4096 -e remount-ro -i 8192 -I 512 -m 1 -G 32 -J size=8 -T news"},
      {"ext4", "-N 20000 -O ^dir_index,^metadata_csum,^huge_file,^dir_nlink,^flex_bg,^64bit"},
      {"ext4", "-O quota,project,inline_data,large_dir,ea_inode,fast_commit,stable_inodes"},
      {"ext4", "-O orphan_file,metadata_csum_seed,encrypt,verity -J fast_commit_size=1,size=8"},
      {"ext4", "-E stride=4,stripe_width=8,packed_meta_blocks=1,root_owner=7:7,lazy_itable_init=0"},
      {"ext4", "-O casefold -E encoding=utf8,encoding_flags=strict"},
      {"ext4", "-O quota -E quotatype=usrquota,stripe-width=8,lazy_journal_init=0 -T largefile4"},
      {"ext3", "-b 2048 -O ^dir_index,large_file -T small"},
      {"xfs", "-b size=4096 -d agcount=2,su=64k,sw=2 -i size=1024,maxpct=10,sparse=0 -n size=8k"},
      {"xfs", "-d agsize=80m,sunit=128,swidth=256 -i perblock=4 -l size=64m,sunit=8"},
      {"xfs", "-d noalign -i nrext64=1 -l su=32k"},
      {"xfs", "-m finobt=0,reflink=0,rmapbt=1,bigtime=0,inobtcount=0 -s size=4096"},
      {"btrfs", "-n 8192 -s 4096 -m single -d single --csum sha256 -R quota"},
      {"btrfs", "--nodesize 4096 --sectorsize 4096 --metadata dup --data dup --mixed"},
      {"btrfs", "-M -O extref,skinny-metadata,^no-holes -R ^free-space-tree"},
      {"btrfs", "-O mixed-bg,no-holes -R free-space-tree -n 4k"},
  }));
  CAPTURE(type, text);
  FormattedVolume volume(type, 320 * kMiB);
  const auto extra = volume.filesystem().ParseMkfsOptions(text);
  CAPTURE(extra.status());
  REQUIRE(extra.ok());
  volume.Make({.uuid = "", .extra = *extra});
  CHECK(RequireFilesystem(volume.device(), type, volume.uuid()).ok());
}

TEST_CASE("a failing mkfs is reported with its words") {
  FormattedVolume volume("xfs", 64 * kMiB);
  const absl::Status status =
      volume.filesystem().Make(volume.device(), {.uuid = volume.uuid(), .extra = {}});
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(status), Catch::Contains("mkfs.xfs") && Catch::Contains("300MB"));
}

TEST_CASE("xfs and btrfs are not made over another filesystem") {
  const std::string type = GENERATE("xfs", "btrfs");
  FormattedVolume volume(type, 320 * kMiB);
  REQUIRE(FindFilesystem("ext4")->Make(volume.device(), {.uuid = volume.uuid(), .extra = {}}).ok());
  CHECK_FALSE(volume.filesystem().Make(volume.device(), {.uuid = volume.uuid(), .extra = {}}).ok());
  CHECK(RequireFilesystem(volume.device(), "ext4", volume.uuid()).ok());
}

TEST_CASE("preparing a clean ext changes nothing") {
  FormattedVolume volume("ext4", 64 * kMiB);
  volume.Make();
  volume.Mount();
  volume.Unmount();
  const std::string before = volume.ReadDevice(0, 4 * kMiB);
  REQUIRE(volume.PrepareMount().ok());
  const bool equal = volume.ReadDevice(0, 4 * kMiB) == before;
  CHECK(equal);
}

TEST_CASE("ext with recorded errors is checked before it is mounted") {
  const std::string type = GENERATE("ext4", "ext3");
  FormattedVolume volume(type, 64 * kMiB);
  volume.Make();
  volume.Debugfs("set_super_value state 3");
  REQUIRE(ReadExtSuperblock(volume.device(), Mounted::kNo)->has_errors);
  const absl::Status status = volume.PrepareMount().status();
  INFO(status);
  CHECK(status.ok());
  CHECK_FALSE(ReadExtSuperblock(volume.device(), Mounted::kNo)->has_errors);
}

TEST_CASE("ext that only a person can repair is refused with the program to run") {
  FormattedVolume volume("ext4", 64 * kMiB);
  volume.Make();
  volume.Debugfs("clri <2>");
  volume.Debugfs("set_super_value state 3");
  const absl::Status status = volume.PrepareMount().status();
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("e2fsck -f " + volume.device().path) &&
                                    Catch::Contains("UNEXPECTED INCONSISTENCY"));
}

TEST_CASE("ext without a usable superblock is refused with the program to run") {
  FormattedVolume volume("ext4", 64 * kMiB);
  volume.Make();
  SECTION("damaged") { volume.WriteDevice(1024 + 0x3FC, "\x13\x57\x9b\xdf"); }
  SECTION("wiped") { volume.WriteDevice(1024, std::string(1024, '\0')); }
  const absl::Status status = volume.PrepareMount().status();
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("e2fsck -f " + volume.device().path));
}

TEST_CASE("ext on a device that cannot be read is an error") {
  FormattedVolume volume("ext4", 64 * kMiB);
  REQUIRE(::ftruncate(volume.image().fd(), 0) == 0);
  CHECK(volume.PrepareMount().status().code() == absl::StatusCode::kInternal);
}

}  // namespace filesystem_test
}  // namespace holdfast::fs
