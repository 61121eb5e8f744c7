// SPDX-License-Identifier: Apache-2.0
#include "rpc/fields.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "support/outcome.h"

namespace holdfast::rpc {
namespace rpc_fields_test {

using Csi = csi::v1::VolumeCapability;
using Mode = Csi::AccessMode;

constexpr auto kUnsupported = absl::StatusCode::kFailedPrecondition;

Csi Mount(Mode::Mode mode = Mode::SINGLE_NODE_WRITER) {
  Csi capability;
  capability.mutable_mount();
  capability.mutable_access_mode()->set_mode(mode);
  return capability;
}

TEST_CASE("an id is there and not too long") {
  REQUIRE_OK(RequireId("x", "volume_id"));
  REQUIRE_OK(RequireId(std::string(128, 'x'), "volume_id"));
  CHECK_FAILS(RequireId("", "volume_id"), kInvalidArgument, "volume_id is missing");
  CHECK_FAILS(RequireId(std::string(129, 'x'), "volume_id"), kInvalidArgument,
              "volume_id is longer than 128 bytes");
}

TEST_CASE("a name holds no control character but tab and line ends") {
  for (const char* name :
       {"pvc-1", "a b", "tab\there", "line\nline\r", "grüße", "日本", "\xc2\xa0"}) {
    CAPTURE(name);
    REQUIRE_OK(RequireName(name, "name"));
  }
  CHECK_FAILS(RequireName("", "name"), kInvalidArgument, "name is missing");
  CHECK_FAILS(RequireName(std::string(129, 'x'), "name"), kInvalidArgument, "longer than 128");
  for (int byte = 0; byte < 0x20; ++byte) {
    if (byte == '\t' || byte == '\n' || byte == '\r') continue;
    CAPTURE(byte);
    CHECK_FAILS(RequireName("a" + std::string(1, static_cast<char>(byte)), "name"),
                kInvalidArgument, "name holds a control character");
  }
  for (int second = 0x80; second <= 0x9f; ++second) {  // U+0080 to U+009F
    const std::string name = std::string("a\xc2") + static_cast<char>(second);
    CHECK_FAILS(RequireName(name, "name"), kInvalidArgument, "control character");
  }
  CHECK_FAILS(RequireName("\x7f", "name"), kInvalidArgument, "control character");
}

TEST_CASE("a path is there") {
  REQUIRE_OK(RequirePath("/" + std::string(1000, 'x'), "target_path"));
  CHECK_FAILS(RequirePath("", "target_path"), kInvalidArgument, "target_path is missing");
}

TEST_CASE("a map is at most 4 KiB of keys and values") {
  google::protobuf::Map<std::string, std::string> map;
  REQUIRE_OK(CheckMap(map, "parameters"));
  map["key1"] = std::string(2044, 'x');
  map["key2"] = std::string(2044, 'x');
  REQUIRE_OK(CheckMap(map, "parameters"));
  map["key2"] += "x";
  CHECK_FAILS(CheckMap(map, "parameters"), kInvalidArgument,
              "parameters is larger than 4096 bytes");
}

TEST_CASE("a capability says how a volume is used") {
  Csi mount = Mount(Mode::SINGLE_NODE_SINGLE_WRITER);
  mount.mutable_mount()->set_fs_type("xfs");
  mount.mutable_mount()->add_mount_flags("noatime");
  const VolumeUse use = test::Value(ParseCapability(mount, kUnsupported));
  CHECK(use.access_type == AccessType::kMount);
  CHECK(use.access_mode == AccessMode::kSingleNodeSingleWriter);
  CHECK(use.filesystem == "xfs");
  CHECK(use.mount_flags == std::vector<std::string>{"noatime"});
  Csi block;
  block.mutable_block();
  block.mutable_access_mode()->set_mode(Mode::SINGLE_NODE_READER_ONLY);
  CHECK(test::Value(ParseCapability(block, kUnsupported)).access_type == AccessType::kBlock);
  CHECK(test::Value(ParseCapability(block, kUnsupported)).access_mode ==
        AccessMode::kSingleNodeReaderOnly);
}

TEST_CASE("every access mode of the contract has its answer") {
  using Code = absl::StatusCode;
  const auto* const modes = Mode::Mode_descriptor();
  for (int i = 0; i < modes->value_count(); ++i) {
    const auto mode = static_cast<Mode::Mode>(modes->value(i)->number());
    CAPTURE(modes->value(i)->name());
    const auto use = ParseCapability(Mount(mode), Code::kUnavailable);
    if (mode == Mode::UNKNOWN) {
      CHECK_FAILS(use, kInvalidArgument, "volume_capability.access_mode.mode");
    } else {
      CHECK(ToString(test::Value(use).access_mode) == modes->value(i)->name());
    }
  }
  CHECK_FAILS(ParseCapability(Mount(static_cast<Mode::Mode>(99)), kUnsupported), kInvalidArgument,
              "access_mode.mode");
}

TEST_CASE("a capability that is malformed is refused, naming the field") {
  const auto broken = [](auto change) {
    Csi capability = Mount();
    change(capability);
    return ParseCapability(capability, kUnsupported);
  };
  CHECK_FAILS(broken([](Csi& c) { c.clear_mount(); }), kInvalidArgument,
              "volume_capability.access_type");
  CHECK_FAILS(broken([](Csi& c) { c.clear_access_mode(); }), kInvalidArgument,
              "volume_capability.access_mode.mode");
  CHECK_FAILS(broken([](Csi& c) { c.mutable_mount()->set_fs_type(std::string(129, 'x')); }),
              kInvalidArgument, "volume_capability.mount.fs_type is longer");
  CHECK_FAILS(broken([](Csi& c) { c.mutable_mount()->set_volume_mount_group("1000"); }),
              kInvalidArgument, "volume_capability.mount.volume_mount_group");
  CHECK_FAILS(broken([](Csi& c) { c.mutable_mount()->add_mount_flags("bind"); }), kInvalidArgument,
              "volume_capability.mount.mount_flags");
}

TEST_CASE("a filesystem that is not supported is answered as the RPC wants it") {
  Csi capability = Mount();
  capability.mutable_mount()->set_fs_type("ntfs");
  CHECK_FAILS(ParseCapability(capability, absl::StatusCode::kFailedPrecondition),
              kFailedPrecondition, "fs_type 'ntfs' is not supported (supported: ext4");
  CHECK_FAILS(ParseCapability(capability, absl::StatusCode::kInvalidArgument), kInvalidArgument,
              "fs_type");
}

}  // namespace rpc_fields_test
}  // namespace holdfast::rpc
