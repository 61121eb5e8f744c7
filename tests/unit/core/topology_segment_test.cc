// SPDX-License-Identifier: Apache-2.0
#include "core/topology_segment.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast {
namespace topology_segment_test {

using Segments = std::vector<TopologySegment>;

const std::string kLongest(63, 'x');
const std::string kTooLong(64, 'x');

TEST_CASE("a segment is a key and a value") {
  const TopologySegment zone = test::Value(ParseTopologySegment("topology.kubernetes.io/zone=a-1"));
  CHECK(zone == TopologySegment{"topology.kubernetes.io/zone", "a-1"});
  CHECK(test::Value(ParseTopologySegment("Rack_1.x=R_1.x-2")) ==
        TopologySegment{"Rack_1.x", "R_1.x-2"});
  CHECK(test::Value(ParseTopologySegment("a/b=")).value.empty());
  REQUIRE_OK(ParseTopologySegment("0.a-b/c=d"));
  REQUIRE_OK(ParseTopologySegment(kLongest + "/" + kLongest + "=" + kLongest));
}

TEST_CASE("a wrong segment is refused, naming the part that is wrong") {
  const struct {
    std::string text;
    std::string named;
  } rows[] = {
      {"", "'' must be KEY=VALUE"},
      {"zone", "'zone' must be KEY=VALUE"},
      {"=a", "name '' of key ''"},
      {"a/=b", "name '' of key 'a/'"},
      {"/zone=a", "prefix '' of key '/zone'"},
      {"A.com/zone=a", "prefix 'A.com' of key"},
      {"a_b.com/zone=a", "prefix 'a_b.com' of key"},
      {"a..com/zone=a", "prefix 'a..com' of key"},
      {"-a.com/zone=a", "prefix '-a.com' of key"},
      {"a-.com/zone=a", "prefix 'a-.com' of key"},
      {"a.com./zone=a", "prefix 'a.com.' of key"},
      {kTooLong + "/zone=a", "of at most 63 characters"},
      {std::string(31, 'x') + "." + std::string(32, 'x') + "/zone=a", "of at most 63 characters"},
      {"a/b/c=d", "name 'b/c' of key"},
      {"a/-zone=a", "name '-zone' of key"},
      {"a/zone.=a", "name 'zone.' of key"},
      {"a/zo ne=a", "name 'zo ne' of key"},
      {"a/" + kTooLong + "=a", "1 to 63 characters"},
      {"zone=-a", "value '-a' of key 'zone'"},
      {"zone=a_", "value 'a_' of key 'zone'"},
      {"zone=a=b", "value 'a=b' of key 'zone'"},
      {"zone=z\xc3\xbc", "of key 'zone'"},
      {"zone=" + kTooLong, "1 to 63 characters"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    CHECK_FAILS(ParseTopologySegment(row.text), kInvalidArgument, row.named);
  }
}

TEST_CASE("a node has one value for each key, and leaves out a key without a value") {
  CHECK(test::Value(ParseNodeTopology({})).empty());
  CHECK(test::Value(ParseNodeTopology({"a/zone=1", "a/region="})) == Segments{{"a/zone", "1"}});
  CHECK(test::Value(ParseNodeTopology({"a/zone=", "a/zone=2"})) == Segments{{"a/zone", "2"}});
  CHECK_FAILS(ParseNodeTopology({"a/zone=1", "a/zone=2"}), kInvalidArgument,
              "key 'a/zone' is given twice, with '1' and '2'");
  CHECK_FAILS(ParseNodeTopology({"a/zone=1", "b=1", "a/Zone=2"}), kInvalidArgument,
              "key 'a/Zone' is given twice");
  CHECK_FAILS(ParseNodeTopology({"a/zone=1", "a/b/c="}), kInvalidArgument, "name 'b/c'");
}

}  // namespace topology_segment_test
}  // namespace holdfast
