// SPDX-License-Identifier: Apache-2.0
#include "link/pool_checks.h"

#include <catch2/catch.hpp>

#include "core/message_text.h"
#include "support/outcome.h"

namespace holdfast::link {
namespace pool_checks_test {

constexpr char kUuid[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001";

v1::Pools Named(const std::vector<std::string>& names) {
  v1::Pools pools;
  for (const std::string& name : names) {
    pools.add_pools()->set_name(name);
    pools.mutable_pools()->rbegin()->set_id(kUuid);
  }
  return pools;
}

TEST_CASE("undecided snapshots are those of groups, and few") {
  v1::Pools pools = Named({"a"});
  v1::Undecided& undecided = *pools.add_undecided();
  undecided.set_group(std::string("g:") + kUuid);
  undecided.set_member(std::string("s:a:n1:") + kUuid);
  undecided.set_decides(std::string("s:a:n2:") + kUuid);
  REQUIRE_OK(CheckPools(pools));
  SECTION("no group") { undecided.set_group(kUuid); }
  SECTION("a volume") { undecided.set_member(std::string("a:n1:") + kUuid); }
  SECTION("decided by nothing") { undecided.clear_decides(); }
  SECTION("too many") {
    while (pools.undecided_size() <= kMaxUndecidedOfNode) *pools.add_undecided() = undecided;
  }
  CHECK_FAILS(CheckPools(pools), kInvalidArgument, "undecided");
}

TEST_CASE("a node has few pools, each once, with names and ids as pools have them") {
  v1::Pools good = Named({"a", "b"});
  REQUIRE_OK(CheckPools(good));
  CHECK(IdsOf(good) == PoolIds{{"a", kUuid}, {"b", kUuid}});

  std::vector<std::string> names;
  for (int pool = 0; pool <= kMaxPoolsOfNode; ++pool) names.push_back(fmt::format("p{}", pool));
  v1::Pools many = Named(names);
  CHECK_FAILS(CheckPools(many), kInvalidArgument, "65 pools");
  v1::Pools twice = Named({"a", "a"});
  CHECK_FAILS(CheckPools(twice), kInvalidArgument, "twice");
  v1::Pools misnamed = Named({"../a"});
  CHECK_FAILS(CheckPools(misnamed), kInvalidArgument, "../a");
  v1::Pools other = Named({"a"});
  other.mutable_pools(0)->set_id("1");
  CHECK_FAILS(CheckPools(other), kInvalidArgument, "UUID");
}

TEST_CASE("only a pool with a problem has no id") {
  v1::Pools pools = Named({"a"});
  pools.mutable_pools(0)->clear_id();
  CHECK_FAILS(CheckPools(pools), kInvalidArgument, "UUID");
  pools.mutable_pools(0)->set_problem("its disk is not mounted");
  REQUIRE_OK(CheckPools(pools));
}

TEST_CASE("what a node says of its pools is bounded") {
  v1::Pools pools = Named({"a"});
  v1::Pool& pool = *pools.mutable_pools(0);
  pool.set_default_filesystem("ext4; rm");
  pool.set_problem(std::string(100'000, 'x') + "\n");
  pool.mutable_thick()->set_available_capacity(kMaxRoom + 1);
  pool.mutable_thin()->mutable_maximum_volume_size()->set_value(-1);
  REQUIRE_OK(CheckPools(pools));
  CHECK(pool.default_filesystem().empty());
  CHECK(pool.problem().size() <= kMaxMessageText);
  CHECK(pool.thick().available_capacity() == kMaxRoom);
  CHECK(pool.thin().maximum_volume_size().value() == 0);
}

}  // namespace pool_checks_test
}  // namespace holdfast::link
