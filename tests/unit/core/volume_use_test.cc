// SPDX-License-Identifier: Apache-2.0
#include "core/volume_use.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast {
namespace volume_use_test {

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

TEST_CASE("which nodes may use a volume at once") {
  using Mode = AccessMode;
  VolumeUse use;
  const auto reach = [&](Mode mode, AccessType type, bool on_one_node) {
    use.access_mode = mode;
    use.access_type = type;
    return RequireReach(use, on_one_node, absl::StatusCode::kUnimplemented);
  };
  for (const auto type : {AccessType::kMount, AccessType::kBlock}) {
    for (const bool on_one_node : {true, false}) {
      for (const auto mode : {Mode::kSingleNodeWriter, Mode::kSingleNodeReaderOnly,
                              Mode::kSingleNodeSingleWriter, Mode::kSingleNodeMultiWriter}) {
        REQUIRE_OK(reach(mode, type, on_one_node));
      }
    }
    for (const auto mode : {Mode::kMultiNodeSingleWriter, Mode::kMultiNodeMultiWriter}) {
      CHECK_FAILS(reach(mode, type, true), kUnimplemented, "volume_capability.access_mode MULTI");
    }
    REQUIRE_OK(reach(Mode::kMultiNodeReaderOnly, type, true));
    REQUIRE_OK(reach(Mode::kMultiNodeReaderOnly, type, false));
  }
  for (const auto mode : {Mode::kMultiNodeSingleWriter, Mode::kMultiNodeMultiWriter}) {
    REQUIRE_OK(reach(mode, AccessType::kBlock, false));
    CHECK_FAILS(reach(mode, AccessType::kMount, false), kInvalidArgument, "destroy each other");
  }
}

TEST_CASE("only a raw block volume that was never formatted can be taken over") {
  Volume volume;
  volume.access_type = AccessType::kBlock;
  volume.state = VolumeState::kReady;
  VolumeUse use;
  use.access_type = AccessType::kMount;
  CHECK(IsToBeTakenOver(volume, use));
  REQUIRE_OK(RequireStageable(volume, use));
  CHECK_FAILS(RequireSuitable(volume, use), kFailedPrecondition, "is a block volume");
  SECTION("not as raw block") {
    use.access_type = AccessType::kBlock;
    CHECK_FALSE(IsToBeTakenOver(volume, use));
    REQUIRE_OK(RequireStageable(volume, use));
  }
  SECTION("not one that is being copied") {
    volume.state = VolumeState::kCopying;
    CHECK_FAILS(RequireStageable(volume, use), kFailedPrecondition, "is a block volume");
  }
  SECTION("a filesystem volume is one already") {
    volume.access_type = AccessType::kMount;
    volume.filesystem = "ext4";
    CHECK_FALSE(IsToBeTakenOver(volume, use));
    use.filesystem = "xfs";
    CHECK_FAILS(RequireStageable(volume, use), kFailedPrecondition, "has filesystem ext4");
  }
}

TEST_CASE("how nodes share a volume follows from the access mode") {
  CHECK(SharingOf(AccessMode::kMultiNodeReaderOnly) == Sharing::kReaders);
  CHECK(SharingOf(AccessMode::kMultiNodeMultiWriter) == Sharing::kWriters);
  CHECK(SharingOf(AccessMode::kMultiNodeSingleWriter) == Sharing::kWriters);
  CHECK(SharingOf(AccessMode::kSingleNodeMultiWriter) == Sharing::kAlone);
  CHECK(SharingOf(AccessMode::kSingleNodeReaderOnly) == Sharing::kAlone);
  CHECK(IsReaderOnly(AccessMode::kSingleNodeReaderOnly));
  CHECK(IsReaderOnly(AccessMode::kMultiNodeReaderOnly));
  CHECK_FALSE(IsReaderOnly(AccessMode::kMultiNodeSingleWriter));
}

}  // namespace volume_use_test
}  // namespace holdfast
