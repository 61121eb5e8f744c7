// SPDX-License-Identifier: Apache-2.0
#include "controller/pool_choice.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "support/memory_pool.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace pool_choice_test {

struct Fixture {
  Fixture() {
    ceph = Add("ceph", "");
    slow = Add("slow", "n1");
    fast = Add("fast", "n1");
    slow->room = 2 * kGiB;
    fast->room = kGiB;
  }
  test::MemoryPool* Add(const std::string& name, const std::string& node) {
    auto pool = std::make_unique<test::MemoryPool>(name, node);
    test::MemoryPool* const added = pool.get();
    REQUIRE_OK(pools.Add(std::move(pool)));
    return added;
  }
  std::vector<pool::Pool*> Allowed(std::vector<std::string> names = {}) const {
    ClassParameters parameters;
    parameters.pools = std::move(names);
    return test::Value(AllowedPools(parameters, pools));
  }
  std::string Chosen(const WantedVolume& wanted, std::vector<std::string> names = {}) const {
    return ChoosePool(Allowed(std::move(names)), pools, wanted).info().name;
  }
  static void Make(test::MemoryPool& pool, const std::string& name) {
    VolumeSpec spec;
    spec.name = name;
    spec.minimum_bytes = kMiB;
    REQUIRE_OK(pool.Create(spec));
  }
  pool::Pools pools;
  test::MemoryPool* ceph;
  test::MemoryPool* slow;
  test::MemoryPool* fast;
};

TEST_CASE_METHOD(Fixture,
                 "without a name the pools of the node are allowed, and shared storage is not") {
  CHECK(Allowed() == std::vector<pool::Pool*>{fast, slow});
  CHECK(Allowed({"slow", "fast"}) == std::vector<pool::Pool*>{slow, fast});
  CHECK(Allowed({"ceph"}) == std::vector<pool::Pool*>{ceph});
  ClassParameters wrong;
  wrong.pools = {"fast", "absent"};
  CHECK_FAILS(AllowedPools(wrong, pools), kInvalidArgument, "no pool 'absent'");
}

TEST_CASE("a process with shared storage only has its default pool") {
  pool::Pools pools;
  REQUIRE_OK(pools.Add(std::make_unique<test::MemoryPool>("second", "")));
  REQUIRE_OK(pools.Add(std::make_unique<test::MemoryPool>("first", "")));
  const auto allowed = test::Value(AllowedPools(ClassParameters(), pools));
  REQUIRE(allowed.size() == 1);
  CHECK(allowed.front()->info().name == "second");
}

TEST_CASE_METHOD(Fixture,
                 "the pool with the most room gets the volume, the first one if they are equal") {
  CHECK(Chosen({.name = "pvc"}) == "slow");
  fast->room = 4 * kGiB;
  CHECK(Chosen({.name = "pvc"}) == "fast");
  CHECK(Chosen({.name = "pvc"}, {"slow"}) == "slow");
  slow->room = 4 * kGiB;
  CHECK(Chosen({.name = "pvc"}, {"slow", "fast"}) == "slow");
  CHECK(Chosen({.name = "pvc"}, {"fast", "slow"}) == "fast");
}

TEST_CASE_METHOD(Fixture,
                 "a repeated call finds the pool that has the volume, whatever the room is now") {
  Make(*fast, "pvc");
  CHECK(Chosen({.name = "pvc"}) == "fast");
  CHECK(Chosen({.name = "other"}) == "slow");
}

TEST_CASE_METHOD(Fixture, "a copy stays in the pool of its source if it fits there") {
  const ContentSource source{VolumeRole::kVolume, fast->IdForName("origin")};
  CHECK(Chosen({.name = "pvc", .bytes = kGiB, .source = source}) == "fast");
  CHECK(Chosen({.name = "pvc", .bytes = kGiB + 1, .source = source}) == "slow");
}

TEST_CASE_METHOD(Fixture, "a pool that does not say what room it has is passed over") {
  slow->room = Unavailable("its disk is not mounted");
  CHECK(Chosen({.name = "pvc"}) == "fast");
  fast->room = slow->room;
  CHECK(Chosen({.name = "pvc"}, {"slow", "fast"}) == "slow");
}

}  // namespace pool_choice_test
}  // namespace holdfast::controller
