// SPDX-License-Identifier: Apache-2.0
#include "core/volume_id.h"

#include <catch2/catch.hpp>

namespace holdfast {
namespace volume_id_test {

const std::string kUuid = "886313e1-3b8a-5372-9b90-0c9aee199e5d";

TEST_CASE("a volume id is read back as it was written") {
  const auto id = GENERATE(values<VolumeId>({
      {"default", "node-1", kUuid},
      {"a", "N", kUuid},
      {"fast-ssd-2", "ip-10-0-0-1.ec2.internal", kUuid},
      {std::string(24, 'p'), std::string(63, 'n'), kUuid},
  }));
  const std::string text = id.ToString();
  CAPTURE(text);
  CHECK(text.size() <= 128);
  const std::optional<VolumeId> parsed = VolumeId::Parse(text);
  REQUIRE(parsed.has_value());
  CHECK(*parsed == id);
}

TEST_CASE("a volume that every node reaches names none") {
  const VolumeId id{.pool = "ceph", .node = "", .uuid = kUuid};
  CHECK(id.ToString() == "ceph::" + kUuid);
  CHECK(VolumeId::Parse(id.ToString()) == id);
}

TEST_CASE("text that ToString cannot have made is no volume id") {
  const auto text = GENERATE(values<std::string>({
      "",
      ":",
      "::",
      "volume",
      "pool:" + kUuid,
      "::" + kUuid,
      ":node:" + kUuid,
      "pool:node:",
      "pool:node:extra:" + kUuid,
      "pool:node:" + kUuid + ":",
      "pool:node:886313E1-3b8a-5372-9b90-0c9aee199e5d",
      "pool:node:886313e13b8a53729b900c9aee199e5d",
      "pool:node:../../etc/passwd",
      "Pool:node:" + kUuid,
      "po/ol:node:" + kUuid,
      "../x:node:" + kUuid,
      "pool:no/de:" + kUuid,
      " pool:node:" + kUuid,
      "pool:node:" + kUuid + "\n",
      std::string(25, 'p') + ":node:" + kUuid,
      "pool:" + std::string(64, 'n') + ":" + kUuid,
  }));
  CAPTURE(text);
  CHECK_FALSE(VolumeId::Parse(text).has_value());
}

TEST_CASE("pool names") {
  const auto good = GENERATE("a", "0", "default", "fast-2", "abcdefghijklmnopqrstuvwx");
  CHECK(ValidatePoolName(good).ok());
  const auto bad = GENERATE("", "-a", "a-", "-", "A", "a_b", "a.b", "a b", "a:b", "a/b", "ä",
                            "abcdefghijklmnopqrstuvwxy");
  CAPTURE(bad);
  CHECK(ValidatePoolName(bad).code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("node ids") {
  const auto good = GENERATE("n", "Node_1.example-2", "0.0");
  CHECK(ValidateNodeId(good).ok());
  const auto bad = GENERATE("", ".", "-n", "n-", "n.", "_n", "a:b", "a/b", "a b", "ö");
  CAPTURE(bad);
  CHECK(ValidateNodeId(bad).code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("UuidOfName is RFC 4122's version 5") {
  const std::string dns_name_space = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  const absl::StatusOr<std::string> uuid = UuidOfName(dns_name_space, "python.org");
  REQUIRE(uuid.ok());
  CHECK(*uuid == kUuid);
  CHECK(*UuidOfName(dns_name_space, "python.org ") != kUuid);
  CHECK(*UuidOfName(kUuid, "python.org") != kUuid);
  CHECK(UuidOfName("default", "python.org").status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("IsUuid takes the canonical lower-case form only") {
  CHECK(IsUuid(kUuid));
  CHECK(IsUuid(RandomUuid()));
  CHECK(RandomUuid() != RandomUuid());
  const auto* text =
      GENERATE("", "886313e1-3b8a-5372-9b90-0c9aee199e5", "886313e1-3b8a-5372-9b90-0c9aee199e5d0",
               "886313E1-3B8A-5372-9B90-0C9AEE199E5D", "886313e1_3b8a_5372_9b90_0c9aee199e5d",
               "g86313e1-3b8a-5372-9b90-0c9aee199e5d");
  CAPTURE(text);
  CHECK_FALSE(IsUuid(text));
}

TEST_CASE("the id of a group snapshot follows from driver and name") {
  const std::string id = GroupIdOf("csi.holdfast.dev", "group-1");
  CHECK(id == GroupIdOf("csi.holdfast.dev", "group-1"));
  CHECK(id != GroupIdOf("csi.holdfast.dev", "group-2"));
  CHECK(id != GroupIdOf("other.holdfast.dev", "group-1"));
  CHECK(IsGroupId(id));
  CHECK_FALSE(VolumeId::Parse(id).has_value());
  CHECK_FALSE(ParseSnapshotId(id).has_value());
  for (const std::string& text :
       std::vector<std::string>{"", "g:", "g:x", "G:" + id.substr(2), id + "x", id.substr(2)}) {
    CHECK_FALSE(IsGroupId(text));
  }
}

TEST_CASE("the name of a member says of which group it is") {
  const std::string id = GroupIdOf("csi.holdfast.dev", "group-1");
  const std::string uuid = id.substr(2);
  const std::string name = GroupMemberName(id, uuid);
  CHECK(name.size() <= 128);
  CHECK(GroupOfMemberName(name) == id);
  for (const std::string& text :
       std::vector<std::string>{"", id, id + "/", id + "/x", uuid + "/" + uuid}) {
    CHECK_FALSE(GroupOfMemberName(text).has_value());
  }
}

}  // namespace volume_id_test
}  // namespace holdfast
