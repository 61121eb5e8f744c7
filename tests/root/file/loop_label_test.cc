// SPDX-License-Identifier: Apache-2.0
#include "file/loop_label.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <xfs/xfs.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "os/device_owner.h"
#include "support/loop_image.h"
#include "support/temp_directory.h"

namespace holdfast::file {
namespace loop_label_test {

using test::AttachedLoop;
using test::ImageFile;
using test::MountedFilesystem;
using test::TempDirectory;

constexpr Bytes kSize = 64 * kMiB;
constexpr char kUuid[] = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";
constexpr char kOther[] = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0002";

using os::DeviceOwner;

const os::DeviceOwners kOwners({LoopProof()});

DeviceOwner Owner(dev_t number) {
  const auto owner = kOwners.OwnerOf(number);
  INFO(owner.status().ToString());
  REQUIRE(owner.ok());
  return *owner;
}

TEST_CASE("the label tells whose a loop device is, also when its file is gone") {
  const TempDirectory directory;
  ImageFile image(directory.path("image"), kSize);
  const AttachedLoop loop(image.fd(), {.label = LoopLabelOf(kUuid, "01234567")});
  CHECK(Owner(loop->block.number).IsOf(kUuid));
  CHECK_FALSE(Owner(loop->block.number).IsOf(kOther));
  CHECK_FALSE(Owner(loop->block.number).IsOf(""));
  CHECK(kOwners.OwnerOf(fmt::format("loop{}", loop->index))->IsOf(kUuid));
  std::filesystem::remove(image.path());
  CHECK(Owner(loop->block.number).IsOf(kUuid));
}

TEST_CASE("the path of an image proves nothing as long as there is a label to ask for") {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.path(std::string("volumes/") + kUuid));
  const ImageFile image(directory.path(ImagePathEnd(kUuid)), kSize);
  const os::LoopDevice foreign = test::Losetup({}, image);
  const DeviceOwner owner = Owner(foreign.block.number);
  test::LosetupDetach(foreign);
  CHECK(owner.kind == DeviceOwner::Kind::kForeign);
}

TEST_CASE("a device whose disk has failed is told by its path") {
  const MountedFilesystem host("xfs", {"mkfs.xfs", "-q"}, 512 * kMiB);
  std::filesystem::create_directories(host.path() + "/volumes/" + kUuid);
  ImageFile image(host.path() + ImagePathEnd(kUuid), kSize);
  const AttachedLoop loop(image.fd(), {.label = LoopLabelOf(kUuid, "01234567")});
  std::uint32_t flags = XFS_FSOP_GOING_FLAGS_NOLOGFLUSH;
  REQUIRE(::ioctl(host.Root().get(), XFS_IOC_GOINGDOWN, &flags) == 0);
  CHECK(Owner(loop->block.number).IsOf(kUuid));
}

TEST_CASE("other devices are foreign, and those that are not there are nobody's") {
  CHECK(Owner(makedev(0, 25)).kind == DeviceOwner::Kind::kForeign);  // without a block device
  CHECK(Owner(makedev(7, 1'000'000)).kind == DeviceOwner::Kind::kNobody);
  CHECK(kOwners.OwnerOf(std::string("sda"))->kind == DeviceOwner::Kind::kForeign);
  CHECK(kOwners.OwnerOf(std::string("loop3p1"))->kind == DeviceOwner::Kind::kForeign);
  CHECK(os::DeviceOwners().OwnerOf(std::string("loop3"))->kind == DeviceOwner::Kind::kForeign);
}

}  // namespace loop_label_test
}  // namespace holdfast::file
