// SPDX-License-Identifier: Apache-2.0
#include "rbd/volume_nodes.h"

#include <catch2/catch.hpp>

#include "core/checked_json.h"
#include "support/outcome.h"

namespace holdfast::rbd {
namespace volume_nodes_test {

DeviceClaim At(const char* node, Sharing sharing, bool read_only = false) {
  return DeviceClaim{.node = node,
                     .client_address = std::string("10.0.0.1:0/") + node,
                     .sharing = sharing,
                     .read_only = read_only,
                     .boot_id = "0f6d2c34-0000-4000-8000-000000000001"};
}

VolumeNodes Held(std::vector<DeviceClaim> holders) {
  return VolumeNodes{.holders = std::move(holders), .published = {}};
}

TEST_CASE("nodes have a volume together only if all of them share it in one way") {
  const DeviceClaim writer = At("a", Sharing::kAlone);
  const DeviceClaim lone_reader = At("b", Sharing::kAlone, true);
  const DeviceClaim reader = At("c", Sharing::kReaders, true);
  const DeviceClaim one_of_many = At("d", Sharing::kWriters);
  for (const DeviceClaim& alone : {writer, lone_reader}) {
    for (const DeviceClaim& other : {writer, lone_reader, reader, one_of_many}) {
      CHECK_FALSE(CanShare(alone, other));
      CHECK_FALSE(CanShare(other, alone));
    }
  }
  CHECK(CanShare(reader, reader));
  CHECK(CanShare(one_of_many, one_of_many));
  CHECK_FALSE(CanShare(reader, one_of_many));
  CHECK_FALSE(CanShare(one_of_many, reader));
}

TEST_CASE("a node has a volume once") {
  VolumeNodes nodes = VolumeNodes().With(At("a", Sharing::kReaders, true));
  nodes = nodes.With(At("b", Sharing::kReaders, true));
  DeviceClaim announced = At("a", Sharing::kReaders, true);
  announced.client_address.clear();
  nodes = nodes.With(announced);
  REQUIRE(nodes.holders.size() == 2);
  CHECK(*nodes.Find("a") == announced);
  CHECK(nodes.Find("c") == nullptr);
  CHECK(nodes.Without("a").Find("a") == nullptr);
  CHECK(nodes.Without("a").Without("b") == VolumeNodes());
  CHECK(nodes.Without("c") == nodes);
}

TEST_CASE("what is recorded of nodes is read as it was written") {
  CHECK(EncodeNodes({}).empty());
  CHECK(test::Value(DecodeNodes("")) == VolumeNodes());
  for (const VolumeNodes& nodes :
       {Held({At("a", Sharing::kAlone)}), Held({At("a", Sharing::kAlone, true)}),
        Held({At("a", Sharing::kReaders, true), At("b", Sharing::kReaders, true)}),
        Held({At("a", Sharing::kWriters), At("b", Sharing::kWriters)})}) {
    CHECK(test::Value(DecodeNodes(EncodeNodes(nodes))) == nodes);
  }
}

TEST_CASE("what is published to nodes is recorded beside what they have") {
  using Mode = AccessMode;
  VolumeNodes nodes = VolumeNodes().With(At("a", Sharing::kReaders, true));
  nodes.published = {{"a", Mode::kMultiNodeReaderOnly}, {"b", Mode::kMultiNodeReaderOnly}};
  CHECK(test::Value(DecodeNodes(EncodeNodes(nodes))) == nodes);
  CHECK(nodes.Without("a").published == nodes.published);
  CHECK(nodes.FindPublished("b")->access_mode == Mode::kMultiNodeReaderOnly);
  CHECK(nodes.FindPublished("c") == nullptr);
  for (const auto other : {Mode::kSingleNodeWriter, Mode::kMultiNodeMultiWriter}) {
    nodes.published.back().access_mode = other;
    CHECK_FAILS(DecodeNodes(EncodeNodes(nodes)), kInternal, "cannot both have it");
  }
  nodes.published = {{"a", Mode::kMultiNodeMultiWriter}, {"b", Mode::kMultiNodeSingleWriter}};
  CHECK(test::Value(DecodeNodes(EncodeNodes(nodes))) == nodes);
  nodes.published = {{"a", Mode::kSingleNodeMultiWriter}};
  CHECK(test::Value(DecodeNodes(EncodeNodes(nodes))) == nodes);
}

TEST_CASE("a record of nodes that cannot be is believed in nothing") {
  for (const VolumeNodes& nodes :
       {Held({At("a", Sharing::kAlone), At("b", Sharing::kAlone)}),
        Held({At("a", Sharing::kReaders, true), At("b", Sharing::kAlone)}),
        Held({At("a", Sharing::kWriters), At("b", Sharing::kReaders, true)}),
        Held({At("a", Sharing::kWriters), At("a", Sharing::kWriters)})}) {
    CHECK_FAILS(DecodeNodes(EncodeNodes(nodes)), kInternal, "cannot both have it");
  }
  CHECK_FAILS(DecodeNodes("{}"), kInternal, "damaged");
  CHECK_FAILS(DecodeNodes(EncodeChecked(
                  {{"holders", {{{"node", "a"}}}}, {"published", nlohmann::json::array()}}, 1)),
              kInternal, "damaged");
  DeviceClaim strange = At("a", Sharing::kAlone);
  strange.client_address = "10.0.0.1:0/7; reboot";
  CHECK_FAILS(DecodeNodes(EncodeNodes(Held({strange}))), kInternal, "client address");
  strange = At("a b", Sharing::kAlone);
  strange.client_address = "";
  CHECK_FAILS(DecodeNodes(EncodeNodes(Held({strange}))), kInternal, "a node that cannot be");
  std::string changed = EncodeNodes(Held({At("a", Sharing::kReaders, true)}));
  changed.replace(changed.find("readers"), 7, "writers");
  CHECK_FAILS(DecodeNodes(changed), kInternal, "checksum");
}

}  // namespace volume_nodes_test
}  // namespace holdfast::rbd
