// SPDX-License-Identifier: Apache-2.0
#include "core/volume_use.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast {
namespace {

Volume Ext4Volume() {
  Volume volume;
  volume.id = {"default", "node-1", "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001"};
  volume.access_type = AccessType::kMount;
  volume.filesystem = "ext4";
  return volume;
}

Volume BlockVolume() {
  Volume volume = Ext4Volume();
  volume.access_type = AccessType::kBlock;
  volume.filesystem = "";
  return volume;
}

VolumeUse MountAs(const std::string& filesystem) {
  VolumeUse use;
  use.filesystem = filesystem;
  return use;
}

TEST_CASE("a volume is used as what it is") {
  VolumeUse block;
  block.access_type = AccessType::kBlock;
  REQUIRE_OK(RequireSuitable(Ext4Volume(), MountAs("")));
  REQUIRE_OK(RequireSuitable(Ext4Volume(), MountAs("ext4")));
  REQUIRE_OK(RequireSuitable(BlockVolume(), block));
  CHECK_FAILS(RequireSuitable(Ext4Volume(), MountAs("xfs")), kFailedPrecondition,
              "has filesystem ext4, not xfs");
  CHECK_FAILS(RequireSuitable(Ext4Volume(), block), kFailedPrecondition,
              "is a mount volume and cannot be used as block");
  CHECK_FAILS(RequireSuitable(BlockVolume(), MountAs("")), kFailedPrecondition,
              "is a block volume and cannot be used as mount");
}

TEST_CASE("only the reader's access mode and the flag ro forbid writing") {
  VolumeUse use;
  for (const auto mode : {AccessMode::kSingleNodeWriter, AccessMode::kSingleNodeSingleWriter,
                          AccessMode::kSingleNodeMultiWriter}) {
    use.access_mode = mode;
    CHECK_FALSE(IsReadOnly(use));
  }
  use.mount_flags = {"noatime", "ro"};
  CHECK(IsReadOnly(use));
  use.mount_flags = {"errors=remount-ro"};
  CHECK_FALSE(IsReadOnly(use));
  use.access_mode = AccessMode::kSingleNodeReaderOnly;
  CHECK(IsReadOnly(use));
}

}  // namespace
}  // namespace holdfast
