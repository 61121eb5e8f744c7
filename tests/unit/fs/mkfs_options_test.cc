// SPDX-License-Identifier: Apache-2.0
#include "fs/mkfs_options.h"

#include <catch2/catch.hpp>

#include "fs/filesystem.h"

namespace holdfast::fs {
namespace mkfs_options_test {

using Words = std::vector<std::string>;

const std::vector<MkfsOption>& Allowed() {
  using enum MkfsOption::Form;
  static const std::vector<MkfsOption> options = {
      {"-b", kValue},
      {"--nodesize", kValue},
      {"-M", kFlag},
      {"-E", kKeys, {"stride", "quick"}},
      {"-O", kNames, {"quota", "^64bit"}},
  };
  return options;
}

TEST_CASE("mkfs options come back as separate arguments") {
  const auto [text, words] = GENERATE(table<std::string, Words>({
      {"", {}},
      {"   ", {}},
      {"-b 4096", {"-b", "4096"}},
      {"  -b   4096 ", {"-b", "4096"}},
      {"-b4096", {"-b", "4096"}},
      {"--nodesize 16k", {"--nodesize", "16k"}},
      {"--nodesize=16k", {"--nodesize", "16k"}},
      {"-M -b 1", {"-M", "-b", "1"}},
      {"-E stride=4,quick", {"-E", "stride=4,quick"}},
      {"-Estride=4", {"-E", "stride=4"}},
      {"-O quota,^64bit", {"-O", "quota,^64bit"}},
  }));
  CAPTURE(text);
  const auto parsed = ParseMkfsWords("mkfs.x", text, Allowed());
  CAPTURE(parsed.status());
  REQUIRE(parsed.ok());
  CHECK(*parsed == words);
}

TEST_CASE("a mkfs option that is not allowed is refused by its name") {
  const auto [text, named] = GENERATE(table<std::string, std::string>({
      {"-F", "'-F'"},
      {"-M -F", "'-F'"},
      {"-MF", "'-MF'"},
      {"/dev/sda", "'/dev/sda'"},
      {"-b 4096 /dev/sda", "'/dev/sda'"},
      {"-b 4096 1000000", "'1000000'"},
      {"-M true", "'true'"},
      {"-b", "'-b'"},
      {"-b -F", "'-F'"},
      {"-b /etc/passwd", "'/etc/passwd'"},
      {"-b 1,2", "'1,2'"},
      {"-b=4096", "'=4096'"},
      {"-b 4\t-F", "'4 -F'"},
      {"-b 1 -b 2", "'-b'"},
      {"--nodesize", "'--nodesize'"},
      {"--nodesize=", "''"},
      {"--nodesize16k", "'--nodesize16k'"},
      {"--", "'--'"},
      {"-", "'-'"},
      {"-E offset=1", "'offset=1'"},
      {"-E stride=4,offset=1", "'offset=1'"},
      {"-E stride=", "'stride='"},
      {"-E stride=/x", "'stride=/x'"},
      {"-E stride=4,", "''"},
      {"-E Stride=4", "'Stride=4'"},
      {"-O 64bit", "'64bit'"},
      {"-O quota=1", "'quota=1'"},
      {"-O none", "'none'"},
  }));
  CAPTURE(text);
  const absl::Status status = ParseMkfsWords("mkfs.x", text, Allowed()).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(MessageOf(status), Catch::Contains(named) && Catch::Contains("mkfs.x"));
}

TEST_CASE("mkfs options longer than a CSI field are refused") {
  const std::string text = "-b " + std::string(4096, '1');
  CHECK(ParseMkfsWords("mkfs.x", text, Allowed()).status().code() ==
        absl::StatusCode::kInvalidArgument);
}

TEST_CASE("mkfs options that shape the filesystem pass") {
  const auto [type, text] = GENERATE(table<std::string, std::string>({
      {"ext4", "-b 2048 -i 8192 -I 256 -m 1 -G 32 -e remount-ro -T largefile4"},
      {"ext4", "-O ^metadata_csum,quota,project -E stride=16,stripe_width=64 -J size=64"},
      {"ext3", "-b 1024 -N 10000 -O dir_index"},
      {"xfs", "-b size=4k -d agcount=8,su=64k,sw=4 -i size=1024,maxpct=10 -l size=64m"},
      {"xfs", "-m reflink=0,rmapbt=1 -n size=8k -s size=4096"},
      {"btrfs", "-m single -d single -n 16k -s 4k --csum xxhash -O no-holes -R quota"},
  }));
  CAPTURE(type, text);
  CHECK(FindFilesystem(type)->ParseMkfsOptions(text).ok());
}

TEST_CASE("mkfs options that reach beyond the filesystem's shape are refused") {
  const auto [type, text] = GENERATE(table<std::string, std::string>({
      // Force, pretend, other type or identity.
      {"ext4", "-F"},
      {"ext4", "-qF"},
      {"ext4", "-n"},
      {"ext4", "-S"},
      {"ext4", "-t ext2"},
      {"ext4", "-T ext2"},
      {"ext4", "-T ext4,big"},
      {"ext4", "-L label"},
      {"ext4", "-M /mnt"},
      {"ext4", "-o Linux"},
      {"ext4", "-r 0"},
      {"ext4", "-U random"},
      {"ext4", "-U 7f3a2c1e-0000-4000-8000-000000000001"},
      {"xfs", "-f"},
      {"xfs", "-N"},
      {"xfs", "-L label"},
      {"xfs", "-m uuid=7f3a2c1e-0000-4000-8000-000000000001"},
      {"xfs", "-m reflink=1,uuid=7f3a2c1e-0000-4000-8000-000000000001"},
      {"btrfs", "-f"},
      {"btrfs", "--force"},
      {"btrfs", "-L label"},
      {"btrfs", "-U 7f3a2c1e-0000-4000-8000-000000000001"},
      {"btrfs", "--uuid=7f3a2c1e-0000-4000-8000-000000000001"},
      {"btrfs", "-O list-all"},
      // Other files and devices.
      {"ext4", "-d /etc"},
      {"ext4", "-l /etc/passwd"},
      {"ext4", "-z /tmp/undo"},
      {"ext4", "-J device=/dev/sda"},
      {"ext4", "-O journal_dev"},
      {"ext4", "/dev/sda"},
      {"xfs", "-d name=/dev/sda"},
      {"xfs", "-d file=1"},
      {"xfs", "-l logdev=/dev/sda"},
      {"xfs", "-l internal=0"},
      {"xfs", "-r rtdev=/dev/sda"},
      {"xfs", "-p /etc/passwd"},
      {"xfs", "-c options=/etc/passwd"},
      {"xfs", "/dev/sda"},
      {"btrfs", "--rootdir /etc"},
      {"btrfs", "--rootdir=/etc"},
      {"btrfs", "-r /etc"},
      {"btrfs", "-m raid1"},
      {"btrfs", "/dev/sda"},
      // Not the whole device, or not crash-safe, or not to be grown, or against thick volumes.
      {"ext4", "-E offset=1048576"},
      {"ext4", "-E resize=100000"},
      {"ext4", "-E discard"},
      {"ext4", "-O ^has_journal"},
      {"ext4", "-O ^extent"},
      {"ext4", "-O ^resize_inode"},
      {"ext4", "-e panic"},
      {"ext4", "1000"},
      {"ext3", "-O extent"},
      {"xfs", "-d size=300m"},
      {"btrfs", "-b 300m"},
      {"btrfs", "-O zoned"},
  }));
  CAPTURE(type, text);
  const absl::Status status = FindFilesystem(type)->ParseMkfsOptions(text).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(MessageOf(status), Catch::Contains("mkfs." + type));
}

}  // namespace mkfs_options_test
}  // namespace holdfast::fs
