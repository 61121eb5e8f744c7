// SPDX-License-Identifier: Apache-2.0
#include "core/pool_config.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast {
namespace {

TEST_CASE("a pool without keys has the documented defaults") {
  const PoolConfig pool = test::Value(ParsePool("default=file:/srv/volumes"));
  CHECK(pool.name == "default");
  CHECK(pool.kind == "file");
  CHECK(pool.location == "/srv/volumes");
  CHECK(pool.default_filesystem == "ext4");
  CHECK(pool.space.reserve_bytes == 0);
  CHECK(pool.space.reserve_fraction == 0.05);
  CHECK(pool.space.overcommit == 1.0);
  CHECK(pool.space.watermark == 0.9);
}

TEST_CASE("every key of a pool") {
  const PoolConfig pool = test::Value(
      ParsePool("p-1=file:/srv/a=b:c,fs=xfs,reserve=1.5Gi,overcommit=1.5,watermark=75%"));
  CHECK(pool.name == "p-1");
  CHECK(pool.location == "/srv/a=b:c");
  CHECK(pool.default_filesystem == "xfs");
  CHECK(pool.space.reserve_bytes == 3 * kGiB / 2);
  CHECK(pool.space.reserve_fraction == 0);
  CHECK(pool.space.overcommit == 1.5);
  CHECK(pool.space.watermark == 0.75);
}

TEST_CASE("a reserve is bytes or a part, not both") {
  const PoolConfig part = test::Value(ParsePool("p=file:/a,reserve=12.5%"));
  CHECK(part.space.reserve_bytes == 0);
  CHECK(part.space.reserve_fraction == 0.125);
  CHECK(test::Value(ParsePool("p=file:/a,reserve=0")).space.reserve_fraction == 0);
}

TEST_CASE("a wrong pool is refused, naming the part that is wrong") {
  const struct {
    const char* text;
    const char* named;
  } rows[] = {
      {"", "NAME=file:DIRECTORY"},
      {"default", "NAME=file:DIRECTORY"},
      {"=file:/a", "pool name ''"},
      {"Default=file:/a", "pool name 'Default'"},
      {"a.b=file:/a", "pool name 'a.b'"},
      {"p=", "must be file:DIRECTORY"},
      {"p=/a", "must be file:DIRECTORY"},
      {"p=lvm:vg0", "must be file:DIRECTORY"},
      {"p=file", "must be file:DIRECTORY"},
      {"p=file:", "absolute path"},
      {"p=file:a", "absolute path"},
      {"p=file:/a,", "must be key=value"},
      {"p=file:/a,fs", "'fs' must be key=value"},
      {"p=file:/a,colour=red", "unknown key 'colour'"},
      {"p=file:/a,fs=xfs,fs=ext4", "'fs' is given twice"},
      {"p=file:/a,reserve=", "''"},
      {"p=file:/a,reserve=-1Gi", "-1Gi"},
      {"p=file:/a,reserve=101%", "reserve"},
      {"p=file:/a,reserve=x%", "reserve"},
      {"p=file:/a,overcommit=0.5", "overcommit"},
      {"p=file:/a,overcommit=1001", "overcommit"},
      {"p=file:/a,overcommit=nan", "overcommit"},
      {"p=file:/a,overcommit=2x", "overcommit"},
      {"p=file:/a,overcommit=", "overcommit"},
      {"p=file:/a,watermark=0.9", "must be a percentage"},
      {"p=file:/a,watermark=-1%", "watermark"},
      {"p=file:/a,watermark=%", "watermark"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    CHECK_FAILS(ParsePool(row.text), kInvalidArgument, row.named);
  }
}

TEST_CASE("a Ceph pool, its name space and how it is reached") {
  const PoolConfig pool = test::Value(
      ParsePool("ceph=rbd:block/team-a,monitors=10.0.0.1:6789;10.0.0.2:6789,user=holdfast,"
                "keyring=/etc/holdfast/keyring,dataPool=ec,fs=xfs"));
  CHECK(pool.kind == "rbd");
  CHECK(pool.location == "block/team-a");
  CHECK(pool.default_filesystem == "xfs");
  CHECK(pool.ceph == CephAccess{.monitors = "10.0.0.1:6789;10.0.0.2:6789",
                                .conf = "",
                                .user = "holdfast",
                                .keyring = "/etc/holdfast/keyring",
                                .key = "",
                                .data_pool = "ec"});
  REQUIRE_OK(ParsePool("ceph=rbd:block,conf=/etc/ceph/ceph.conf,user=h,keyring=/k"));
  CHECK_FALSE(pool.topology);
  // Calls bring user and key as secrets.
  const PoolConfig bare = test::Value(ParsePool("ceph=rbd:block,monitors=10.0.0.1:6789"));
  CHECK((bare.ceph.user + bare.ceph.keyring + bare.ceph.key).empty());
}

TEST_CASE("a Ceph pool that only some nodes reach") {
  const PoolConfig pool = test::Value(
      ParsePool("ceph=rbd:block,topology=topology.kubernetes.io/zone=a,monitors=10.0.0.1:6789"));
  CHECK(pool.topology == TopologySegment{"topology.kubernetes.io/zone", "a"});
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
      {"p=rbd:x,monitors=h:1,topology=zone", "pool 'p': topology: 'zone' must be KEY=VALUE"},
      {"p=rbd:x,monitors=h:1,topology=zone=", "topology: key 'zone' has no value"},
      {"p=rbd:x,monitors=h:1,topology=A.b/zone=a", "topology: prefix 'A.b'"},
      {"p=rbd:x,monitors=h:1,topology=zone=-", "topology: value '-'"},
      {"p=rbd:x,monitors=h:1,topology=a=b,topology=c=d", "'topology' is given twice"},
      {"p=file:/a,topology=zone=a", "unknown key 'topology'"},
      // Space is Ceph's to keep.
      {"p=rbd:x,monitors=h:1,user=u,keyring=/k,reserve=5%", "unknown key 'reserve'"},
      {"p=file:/a,monitors=h:1", "unknown key 'monitors'"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    CHECK_FAILS(ParsePool(row.text), kInvalidArgument, row.named);
  }
}

}  // namespace
}  // namespace holdfast
