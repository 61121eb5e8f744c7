// SPDX-License-Identifier: Apache-2.0
#include "os/mount_table.h"

#include <sys/sysmacros.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::os {
namespace mount_table_test {

MountTable ParseTable(const std::string& text) {
  auto table = MountTable::Parse(text);
  INFO(table.status());
  REQUIRE(table.ok());
  return *std::move(table);
}

// The id of the mount visible at `target`, or 0.
int IdAt(const MountTable& table, const std::string& target) {
  const MountEntry* const entry = table.At(target);
  return entry == nullptr ? 0 : entry->id;
}

std::vector<int> IdsOf(const std::vector<const MountEntry*>& entries) {
  std::vector<int> ids;
  for (const MountEntry* entry : entries) ids.push_back(entry->id);
  return ids;
}

constexpr const char* kHost =
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
    "24 27 0:6 / /dev rw,nosuid - devtmpfs devtmpfs rw,size=4k\n"
    "40 27 7:3 / /stage rw,noatime shared:7 master:2 - xfs /dev/loop3 rw,attr2\n"
    "41 27 7:3 / /pods/a/mount ro,noatime - xfs /dev/loop3 rw,attr2\n"
    "42 27 7:4 /sub /pods/b/mount rw - ext4 /dev/loop4 ro,errors=remount-ro\n"
    "43 27 0:6 /loop5 /pods/c/block rw,nosuid - devtmpfs devtmpfs rw,size=4k\n";

TEST_CASE("a line of mountinfo becomes an entry") {
  const MountTable table = ParseTable(kHost);
  REQUIRE(table.entries().size() == 6);
  const MountEntry* const entry = table.At("/pods/b/mount");
  REQUIRE(entry != nullptr);
  CHECK(entry->id == 42);
  CHECK(entry->parent_id == 27);
  CHECK(entry->root == "/sub");
  CHECK(entry->filesystem == "ext4");
  CHECK(entry->source == "/dev/loop4");
  CHECK(entry->device == makedev(7, 4));
  CHECK(entry->mount_options == "rw");
  CHECK(entry->filesystem_options == "ro,errors=remount-ro");
  CHECK(table.At("/")->parent_id == 0);
}

TEST_CASE("read-only comes from the mount or from the filesystem") {
  struct Case {
    const char* options;
    const char* filesystem_options;
    bool read_only;
    bool filesystem_read_only;
  };
  const Case c = GENERATE(
      Case{"rw,noatime", "rw", false, false}, Case{"ro,noatime", "rw", true, false},
      Case{"rw", "ro,x", true, true}, Case{"ro", "ro", true, true},
      Case{"rw", "rw,errors=remount-ro", false, false}, Case{"noatime,ro", "rw", true, false});
  CAPTURE(c.options, c.filesystem_options);
  const MountTable table = ParseTable(
      fmt::format("1 0 7:3 / /m {} - ext4 /dev/loop3 {}\n", c.options, c.filesystem_options));
  CHECK(table.At("/m")->read_only == c.read_only);
  CHECK(table.At("/m")->filesystem_read_only == c.filesystem_read_only);
}

TEST_CASE("escaped characters are restored") {
  const MountTable table =
      ParseTable("1 0 7:3 /a\\040b /m\\011\\134n\\043 rw - fuse.x\\040y a\\040b rw\n");
  const MountEntry* const entry = table.At("/m\t\\n#");
  REQUIRE(entry != nullptr);
  CHECK(entry->root == "/a b");
  CHECK(entry->source == "a b");
}

TEST_CASE("an empty source is a source") {
  const MountTable table = ParseTable("1 0 0:40 / /m rw - tmpfs  rw,size=4k\n");
  REQUIRE(table.At("/m") != nullptr);
  CHECK(table.At("/m")->source.empty());
  CHECK(table.At("/m")->filesystem_options == "rw,size=4k");
}

TEST_CASE("a table that cannot be understood is refused as a whole") {
  const std::string bad = GENERATE("27 1 254:0 / / rw - ext4 /dev/vda rw\nrubbish\n",
                                   "27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 7:3 / /m\n");
  CAPTURE(bad);
  CHECK(MountTable::Parse(bad).status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("no text is no mount") {
  CHECK(ParseTable("").entries().empty());
  CHECK(ParseTable("").At("/") == nullptr);
}

TEST_CASE("only an exact mount point is found") {
  const MountTable table = ParseTable(kHost);
  struct Case {
    const char* target;
    int id;
  };
  const Case c = GENERATE(Case{"/", 27}, Case{"/stage", 40}, Case{"/stage/", 0}, Case{"/stag", 0},
                          Case{"/stage2", 0}, Case{"/stage/below", 0}, Case{"/pods/a", 0},
                          Case{"/pods/a/mount", 41}, Case{"", 0}, Case{"stage", 0});
  CAPTURE(c.target);
  CHECK(IdAt(table, c.target) == c.id);
}

TEST_CASE("of stacked mounts the topmost is seen, whatever the order of lines") {
  struct Case {
    const char* lines;
    int id;
  };
  const Case c = GENERATE(Case{"2 1 7:1 / /m rw - ext4 /dev/loop1 rw\n"
                               "3 2 7:2 / /m rw - ext4 /dev/loop2 rw\n",
                               3},
                          Case{"3 1 7:2 / /m rw - ext4 /dev/loop2 rw\n"
                               "2 3 7:1 / /m rw - ext4 /dev/loop1 rw\n",
                               2},
                          Case{"2 3 7:1 / /m rw - ext4 /dev/loop1 rw\n"
                               "3 1 7:2 / /m rw - ext4 /dev/loop2 rw\n",
                               2});
  const MountTable table =
      ParseTable(std::string("1 0 254:0 / / rw - ext4 /dev/vda rw\n") + c.lines);
  CHECK(IdAt(table, "/m") == c.id);
}

TEST_CASE("a mount that another one hides is not seen") {
  // 2 is mounted at /a/b; then 3 covers /a, and 4 is mounted at its /a/c.
  const MountTable table = ParseTable(
      "1 0 254:0 / / rw - ext4 /dev/vda rw\n"
      "2 1 7:1 / /a/b rw - ext4 /dev/loop1 rw\n"
      "3 1 7:2 / /a rw - ext4 /dev/loop2 rw\n"
      "4 3 7:3 / /a/c rw - ext4 /dev/loop3 rw\n");
  CHECK(IdAt(table, "/a") == 3);
  CHECK(IdAt(table, "/a/b") == 0);
  CHECK(IdAt(table, "/a/c") == 4);
  CHECK(IdsOf(table.OfDevice(makedev(7, 1))) == std::vector<int>{2});
}

TEST_CASE("without a mounted root the walk begins at mounts of unknown parents") {
  const MountTable table = ParseTable(
      "5 900 7:1 / /a rw - ext4 /dev/loop1 rw\n"
      "6 5 7:2 / /a/b rw - ext4 /dev/loop2 rw\n");
  CHECK(IdAt(table, "/a") == 5);
  CHECK(IdAt(table, "/a/b") == 6);
  CHECK(IdAt(table, "/") == 0);
}

TEST_CASE("a table that contradicts itself still gets an answer") {
  const MountTable table = ParseTable(
      "5 0 7:1 / /a rw - ext4 /dev/loop1 rw\n"
      "6 5 7:2 / /a rw - ext4 /dev/loop2 rw\n"
      "5 6 7:1 / /a rw - ext4 /dev/loop1 rw\n");
  CHECK(table.At("/a") != nullptr);
}

TEST_CASE("mounts of a device are found by its number") {
  const MountTable table = ParseTable(kHost);
  CHECK(IdsOf(table.OfDevice(makedev(7, 3))) == std::vector<int>{40, 41});
  CHECK(table.OfDevice(makedev(7, 9)).empty());
  CHECK(table.OfDevice(0).empty());
}

TEST_CASE("binds of a device node are found by its place") {
  struct Case {
    const char* filesystem;
    const char* root;
    bool found;
  };
  const Case c = GENERATE(
      Case{"devtmpfs devtmpfs", "/loop5", true}, Case{"tmpfs dev", "/loop5", true},
      Case{"overlay overlay", "/dev/loop5", true},
      Case{"ext4 /dev/vda", "/containers/7/dev/loop5", true},
      Case{"devtmpfs devtmpfs", "/loop5//deleted", true},
      Case{"devtmpfs devtmpfs", "/loop55", false}, Case{"devtmpfs devtmpfs", "/loop", false},
      Case{"ext4 /dev/vda", "/images/loop5", false}, Case{"devtmpfs devtmpfs", "/", false});
  CAPTURE(c.filesystem, c.root);
  const MountTable table =
      ParseTable(fmt::format("9 1 0:6 {} /pods/block rw - {} rw\n", c.root, c.filesystem));
  CHECK(table.OfDeviceNode("loop5").size() == (c.found ? 1U : 0U));
}

TEST_CASE("this process's own table can be read") {
  const auto table = MountTable::Read();
  REQUIRE(table.ok());
  CHECK(table->entries().size() > 1);
  CHECK(table->At("/proc") != nullptr);
}

TEST_CASE("the device behind a path") {
  CHECK(DeviceBehind("/no/such/path").status().code() == absl::StatusCode::kNotFound);
  CHECK(DeviceBehind("/proc/self/status/x").status().code() == absl::StatusCode::kNotFound);
  const auto none = DeviceBehind("/proc");
  REQUIRE(none.ok());
  CHECK(*none == 0);
}

// Two views of kubelet's directory: a mount in one is copied into the other.
TEST_CASE("copies of one mount at several paths are told from mounts at several places") {
  const auto table = MountTable::Parse(
      "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "2 1 8:2 /kubelet /var/lib/kubelet rw - ext4 /dev/sda2 rw\n"
      "3 1 8:2 / /data rw - ext4 /dev/sda2 rw\n"
      "4 2 7:3 / /var/lib/kubelet/stage rw - ext4 /dev/loop3 rw\n"
      "5 3 7:3 / /data/kubelet/stage rw - ext4 /dev/loop3 rw\n"
      "6 2 7:3 / /var/lib/kubelet/pod rw - ext4 /dev/loop3 rw\n"
      "7 1 7:3 / /kubelet/stage rw - ext4 /dev/loop3 rw\n");
  REQUIRE(table.ok());
  const auto one_place = [&](int a, int b) {
    return table->AreOnePlace(*table->WithId(a), *table->WithId(b));
  };
  CHECK(one_place(4, 5));
  CHECK(one_place(5, 4));
  CHECK_FALSE(one_place(4, 6));
  CHECK_FALSE(one_place(5, 6));
  CHECK_FALSE(one_place(4, 7));
  CHECK_FALSE(one_place(5, 7));
}

}  // namespace mount_table_test
}  // namespace holdfast::os
