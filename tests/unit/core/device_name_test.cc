// SPDX-License-Identifier: Apache-2.0
#include "core/device_name.h"

#include <catch2/catch.hpp>
#include <string>

#include "os/bound_nodes.h"
#include "os/mount_table.h"

namespace holdfast {
namespace {

constexpr char kUuid[] = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";

TEST_CASE("a label tells the volume, fits into the kernel's 63 bytes and differs between pools") {
  const std::string label = LoopLabelOf(kUuid, "01234567");
  CHECK(label.size() <= 63);
  CHECK(UuidOfLoopLabel(label) == kUuid);
  CHECK(label != LoopLabelOf(kUuid, "01234568"));
}

TEST_CASE("labels that Holdfast cannot have given are nobody's") {
  const std::string uuid = kUuid;
  for (const std::string& label :
       {std::string(), std::string("holdfast:"), "holdfast:" + uuid, "holdfast:" + uuid + "/image",
        "holdfast:" + uuid.substr(1) + ":01234567", "holdfast:" + std::string(36, 'x') + ":0",
        "/pool/volumes/" + uuid + "/image", uuid + ":01234567", "Holdfast:" + uuid + ":01234567"}) {
    CAPTURE(label);
    CHECK_FALSE(UuidOfLoopLabel(label).has_value());
  }
}

TEST_CASE("the path of an image tells the volume by its end") {
  const std::string uuid = kUuid;
  CHECK(UuidOfImagePath("/pool/volumes/" + uuid + "/image") == kUuid);
  CHECK(UuidOfImagePath("/volumes/" + uuid + "/image") == kUuid);
  for (const std::string& path :
       {std::string(), "volumes/" + uuid + "/image", "/pool/volumes/" + uuid + "/image.old",
        "/pool/trash/" + uuid + "/image", "/pool/myvolumes/" + uuid + "/image",
        "/volumes/" + std::string(36, 'x') + "/image"}) {
    CAPTURE(path);
    CHECK_FALSE(UuidOfImagePath(path).has_value());
  }
}

TEST_CASE("a mounted node is known by its name alone") {
  const os::BoundNodes nodes(
      "30 1 0:6 / /dev rw - devtmpfs udev rw\n"
      "31 1 0:6 /loop12 /target rw - devtmpfs udev rw\n"
      "32 1 0:6 /loop7//deleted /other rw - devtmpfs udev rw\n"
      "33 1 0:44 /dev/loop9 /third rw - tmpfs none rw\n");
  for (const char* name : {"loop12", "loop7", "loop9"}) CHECK(nodes.Has(name));
  for (const char* name : {"loop1", "loop2", "loop120", "loop70", "oop12", "loop"}) {
    CHECK_FALSE(nodes.Has(name));
  }
}

// Two views of kubelet's directory: a mount in one is copied into the other.
TEST_CASE("copies of one mount at several paths are told from mounts at several places") {
  const auto table = os::MountTable::Parse(
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

}  // namespace
}  // namespace holdfast
