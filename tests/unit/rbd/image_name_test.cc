// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "core/volume_id.h"
#include "rbd/image_name.h"

namespace holdfast::rbd {
namespace image_name_test {

constexpr char kUuid[] = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";

TEST_CASE("no two images of a volume have one name, and each tells the volume") {
  const std::string first = NewImageName(kUuid);
  const std::string second = NewImageName(kUuid);
  CHECK(first != second);
  for (const std::string& name : {first, second}) {
    CHECK(name.starts_with(ImagePrefix(kUuid)));
    CHECK(UuidOfImage(name) == kUuid);
  }
}

TEST_CASE("names that Holdfast cannot have given are nobody's") {
  const std::string prefix = ImagePrefix(kUuid);
  for (const std::string& name :
       {std::string(), std::string("holdfast-"), std::string("holdfast-") + kUuid, prefix,
        prefix + "1234567", prefix + "123456789", std::string("golden-") + kUuid + "-12345678",
        std::string("holdfast-0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4dXXXX-12345678")}) {
    INFO(name);
    CHECK_FALSE(UuidOfImage(name).has_value());
  }
}

TEST_CASE("a snapshot's name tells its image, and its own UUID") {
  constexpr char kSnapshot[] = "1b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";
  const SnapshotName name{NewImageName(kUuid), NewImageName(kSnapshot)};
  const auto parsed = ParseSnapshotName(name.ToString());
  REQUIRE(parsed.has_value());
  CHECK(parsed->image == name.image);
  CHECK(parsed->snapshot == name.snapshot);
  CHECK(UuidOfBytes(name.ToString()) == kSnapshot);
  CHECK(UuidOfBytes(name.image) == kUuid);
  CHECK_FALSE(ParseSnapshotName(name.image).has_value());
  CHECK_FALSE(UuidOfImage(name.ToString()).has_value());
  for (const std::string& foreign :
       {"golden@" + name.snapshot, name.image + "@by-hand", name.image + "@", "@" + name.snapshot,
        name.ToString() + "@" + name.snapshot}) {
    INFO(foreign);
    CHECK_FALSE(UuidOfBytes(foreign).has_value());
  }
}

TEST_CASE("a number without a mapped image is nobody's") {
  const auto owner = os::DeviceOwners({RbdProof()}).OwnerOf(std::string("rbd1000000"));
  REQUIRE(owner.ok());
  CHECK(owner->kind == os::DeviceOwner::Kind::kNobody);
}

}  // namespace image_name_test
}  // namespace holdfast::rbd
