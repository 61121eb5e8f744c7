// SPDX-License-Identifier: Apache-2.0
#include "file/loop_label.h"

#include <catch2/catch.hpp>
#include <string>

namespace holdfast::file {
namespace loop_label_test {

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

}  // namespace loop_label_test
}  // namespace holdfast::file
