// SPDX-License-Identifier: Apache-2.0
#include "link/lost_pools.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::link {
namespace lost_pools_test {

constexpr char kLost[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001";
constexpr char kOther[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a002";

v1::Pools One(const std::string& name, const std::string& id, const std::string& problem = "") {
  v1::Pools pools;
  v1::Pool& pool = *pools.add_pools();
  pool.set_name(name);
  pool.set_id(id);
  pool.set_problem(problem);
  return pools;
}

TEST_CASE("a node that serves a lost pool is refused, and the declaration is named") {
  const LostPools lost({{"n1", "default", kLost}});
  CHECK_FAILS(lost.RequireNone("n1", One("default", kLost)), kFailedPrecondition, "lostPools");
  REQUIRE_OK(lost.RequireNone("n2", One("default", kLost)));
  REQUIRE_OK(lost.RequireNone("n1", One("fast", kLost)));
}

TEST_CASE("a node that knows the pool and cannot serve it, or has another disk, is welcome") {
  const LostPools lost({{"n1", "default", kLost}});
  REQUIRE_OK(lost.RequireNone("n1", One("default", kLost, "its disk is not mounted")));
  REQUIRE_OK(lost.RequireNone("n1", One("default", kOther)));
}

TEST_CASE("which nodes have lost pools is known by name") {
  const LostPools lost({{"n1", "default", kLost}});
  CHECK(lost.Find("n1", "default")->id == kLost);
  CHECK(lost.Find("n1", "fast") == nullptr);
  CHECK(lost.HasNode("n1"));
  CHECK_FALSE(lost.HasNode("n2"));
}

}  // namespace lost_pools_test
}  // namespace holdfast::link
