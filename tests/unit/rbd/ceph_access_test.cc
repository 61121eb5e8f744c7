// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_access.h"

#include <array>
#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::rbd {
namespace ceph_access_test {

absl::StatusOr<PoolConfig> Parse(std::string_view text) {
  const std::array<const PoolSyntax*, 1> kinds{&RbdSyntax()};
  return ParsePool(text, kinds);
}

TEST_CASE("a Ceph pool, its name space and how it is reached") {
  const PoolConfig pool =
      test::Value(Parse("ceph=rbd:block/team-a,monitors=10.0.0.1:6789;10.0.0.2:6789,user=holdfast,"
                        "keyring=/etc/holdfast/keyring,dataPool=ec,fs=xfs"));
  CHECK(pool.kind() == "rbd");
  CHECK(pool.syntax->is_shared);
  CHECK(pool.location == "block/team-a");
  CHECK(pool.default_filesystem == "xfs");
  CHECK(test::Value(ParseCephAccess(pool.keys)) ==
        CephAccess{.monitors = "10.0.0.1:6789;10.0.0.2:6789",
                   .conf = "",
                   .user = "holdfast",
                   .keyring = "/etc/holdfast/keyring",
                   .key = "",
                   .data_pool = "ec"});
  CHECK(test::Value(ParseTopology(pool.keys)) == std::nullopt);
  REQUIRE_OK(Parse("ceph=rbd:block,conf=/etc/ceph/ceph.conf,user=h,keyring=/k"));
  // Calls bring user and key as secrets.
  const PoolConfig bare = test::Value(Parse("ceph=rbd:block,monitors=10.0.0.1:6789"));
  const CephAccess access = test::Value(ParseCephAccess(bare.keys));
  CHECK((access.user + access.keyring + access.key).empty());
}

TEST_CASE("a Ceph pool that only some nodes reach") {
  const PoolConfig pool = test::Value(
      Parse("ceph=rbd:block,topology=topology.kubernetes.io/zone=a,monitors=10.0.0.1:6789"));
  CHECK(test::Value(ParseTopology(pool.keys)) ==
        TopologySegment{"topology.kubernetes.io/zone", "a"});
}

TEST_CASE("pools of one name in two clusters are not the same storage") {
  const auto same = [](std::string_view one, std::string_view other) {
    return IsSameStorage(test::Value(Parse(one)), test::Value(Parse(other)));
  };
  CHECK(same("a=rbd:x,monitors=h:1", "b=rbd:x,monitors=h:1,topology=zone=a,fs=xfs"));
  CHECK(same("a=rbd:x,monitors=h:1", "b=rbd:x,monitors=h:1,keepDeleted=24h,trash=reclaim"));
  CHECK_FALSE(same("a=rbd:x,monitors=h:1", "b=rbd:x,monitors=h:2"));
  CHECK_FALSE(same("a=rbd:x,monitors=h:1", "b=rbd:x/n,monitors=h:1"));
  CHECK_FALSE(same("a=rbd:x,monitors=h:1", "b=rbd:x,monitors=h:1,dataPool=ec"));
}

TEST_CASE("a wrong Ceph pool is refused, naming the part that is wrong") {
  const std::string rest = ",monitors=h:1,user=u,keyring=/k";
  const struct {
    std::string text;
    const char* named;
  } rows[] = {
      {"p=rbd", "rbd:CEPHPOOL[/NAMESPACE]"},
      {"p=rbd:" + rest, "''"},
      {"p=rbd:/x" + rest, "''"},
      {"p=rbd:x/" + rest, "''"},
      {"p=rbd:a b" + rest, "'a b'"},
      {"p=rbd:x/a/b" + rest, "'a/b'"},
      {"p=rbd:x,user=u,keyring=/k", "cluster is not named"},
      {"p=rbd:x,monitors=h:1,keyring=/k", "user= is missing"},
      {"p=rbd:x,monitors=h:1,user=u,secret=y,keyring=/k", "unknown key 'secret'"},
      {"p=rbd:x,monitors=h:1,user=u,key=y,keyring=/k", "unknown key 'key'"},
      {"p=rbd:x,monitors=h:1,user=u v,keyring=/k", "'u v'"},
      {"p=rbd:x,monitors=h:1,user=u", "keyring= is missing"},
      {"p=rbd:x,monitors=h:1,user=u,keyring=k", "keyring='k' must be an absolute path"},
      {"p=rbd:x,conf=c,user=u,keyring=/k", "conf='c' must be an absolute path"},
      {"p=rbd:x,monitors=h:1,user=u,keyring=/k,dataPool=a b", "dataPool: 'a b'"},
      {"p=rbd:x,monitors=h:1,keepDeleted=soon", "keepDeleted='soon'"},
      {"p=rbd:x,monitors=h:1,trash=empty", "trash='empty'"},
      {"p=rbd:x,monitors=h:1,topology=zone", "pool 'p': topology: 'zone' must be KEY=VALUE"},
      {"p=rbd:x,monitors=h:1,topology=zone=", "topology: key 'zone' has no value"},
      {"p=rbd:x,monitors=h:1,topology=A.b/zone=a", "topology: prefix 'A.b'"},
      {"p=rbd:x,monitors=h:1,topology=zone=-", "topology: value '-'"},
      {"p=rbd:x,monitors=h:1,topology=a=b,topology=c=d", "'topology' is given twice"},
      // Space is Ceph's to keep.
      {"p=rbd:x,monitors=h:1,user=u,keyring=/k,reserve=5%", "unknown key 'reserve'"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    CHECK_FAILS(Parse(row.text), kInvalidArgument, row.named);
  }
}

}  // namespace ceph_access_test
}  // namespace holdfast::rbd
