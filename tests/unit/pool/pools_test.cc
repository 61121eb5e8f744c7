// SPDX-License-Identifier: Apache-2.0
#include "pool/pools.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/memory_pool.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace pools_test {

using test::MemoryPool;

constexpr char kUuid[] = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";

std::string Create(const Pools& pools, const std::string& pool, const std::string& name) {
  VolumeSpec spec;
  spec.name = name;
  return test::Value(test::Value(pools.Find(pool))->Create(spec)).id.ToString();
}

struct TwoPools {
  TwoPools() {
    REQUIRE_OK(pools.Add(std::make_unique<MemoryPool>("fast", "n1")));
    REQUIRE_OK(pools.Add(std::make_unique<MemoryPool>("bulk", "n1")));
  }
  Pools pools;
};

TEST_CASE_METHOD(TwoPools, "a pool by its name, the first one added by no name") {
  CHECK(test::Value(pools.Find("bulk"))->info().name == "bulk");
  CHECK(test::Value(pools.Find(""))->info().name == "fast");
  CHECK_FAILS(pools.Find("gone"), kInvalidArgument, "no pool 'gone' (there are: bulk, fast)");
  CHECK_FAILS(Pools().Find(""), kInvalidArgument, "no pool ''");
  REQUIRE(pools.all().size() == 2);
  CHECK(pools.all()[0]->info().name == "bulk");
}

TEST_CASE_METHOD(TwoPools, "two pools of one name are refused") {
  CHECK_FAILS(pools.Add(std::make_unique<MemoryPool>("fast", "n1")), kInvalidArgument, "twice");
  CHECK(pools.all().size() == 2);
}

TEST_CASE_METHOD(TwoPools, "an id leads to its pool, whether or not the volume exists") {
  const auto located = test::Value(pools.Locate(VolumeId{"bulk", "n1", kUuid}.ToString()));
  CHECK(located.pool->info().name == "bulk");
  CHECK(located.id.uuid == kUuid);
}

TEST_CASE_METHOD(TwoPools, "no volume, and not to be known here, are two answers") {
  for (const char* id :
       {"", "x", "fast:n1:not-a-uuid", "pvc-0b7f1f2a", "fast:n1:../../etc", "a:b:c:d"}) {
    CAPTURE(id);
    CHECK_FAILS(pools.Locate(id), kNotFound, "there is no volume");
  }
  CHECK_FAILS(pools.Locate(VolumeId{"gone", "n1", kUuid}.ToString()), kFailedPrecondition,
              "pool 'gone', which is not configured here");
  CHECK_FAILS(pools.Locate(VolumeId{"fast", "n2", kUuid}.ToString()), kFailedPrecondition,
              "on node 'n2', this is node 'n1'");
}

TEST_CASE("a volume that every node reaches is found on each of them") {
  Pools pools;
  REQUIRE_OK(pools.Add(std::make_unique<MemoryPool>("shared", "")));
  REQUIRE_OK(pools.Add(std::make_unique<MemoryPool>("local", "n1")));
  CHECK(test::Value(pools.Locate(VolumeId{"shared", "", kUuid}.ToString())).id.node.empty());
  // Ids that the pools cannot have made.
  CHECK_FAILS(pools.Locate(VolumeId{"shared", "n1", kUuid}.ToString()), kNotFound, "never made");
  CHECK_FAILS(pools.Locate(VolumeId{"local", "", kUuid}.ToString()), kNotFound, "never made");
}

TEST_CASE_METHOD(TwoPools, "pages of any size add up to every volume, each once") {
  std::set<std::string> made;
  for (int i = 0; i < 7; ++i) {
    made.insert(Create(pools, "fast", "f" + std::to_string(i)));
    if (i < 4) made.insert(Create(pools, "bulk", "b" + std::to_string(i)));
  }
  CHECK(test::Value(pools.List("", 0)).size() == made.size());
  for (std::size_t size = 1; size <= made.size() + 1; ++size) {
    std::vector<std::string> seen;
    std::string after;
    for (auto page = test::Value(pools.List("", size)); !page.empty();
         page = test::Value(pools.List(after, size))) {
      REQUIRE(page.size() <= size);
      for (const Volume& volume : page) seen.push_back(volume.id.ToString());
      after = seen.back();
    }
    CAPTURE(size);
    CHECK(std::is_sorted(seen.begin(), seen.end()));
    CHECK(seen == std::vector<std::string>(made.begin(), made.end()));
  }
}

TEST_CASE_METHOD(TwoPools, "pages stay stable while volumes come and go") {
  for (int i = 0; i < 6; ++i) Create(pools, i % 2 == 0 ? "fast" : "bulk", std::to_string(i));
  const auto all = test::Value(pools.List("", 0));
  const auto first = test::Value(pools.List("", 3));
  REQUIRE(first.size() == 3);
  // The volume that the token names is removed, and so is one that was already listed.
  for (const Volume& volume : {first[2], first[0]}) {
    REQUIRE_OK(test::Value(pools.Find(volume.id.pool))->Delete(volume.id));
  }
  const auto rest = test::Value(pools.List(first[2].id.ToString(), 0));
  REQUIRE(rest.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(rest[i].id == all[3 + i].id);
}

TEST_CASE_METHOD(TwoPools, "a page after a pool that has gone goes on with the next") {
  const std::string id = Create(pools, "fast", "x");
  const auto volumes = test::Value(pools.List(VolumeId{"carbon", "n1", kUuid}.ToString(), 0));
  REQUIRE(volumes.size() == 1);
  CHECK(volumes[0].id.ToString() == id);
  CHECK(test::Value(pools.List(VolumeId{"zinc", "n1", kUuid}.ToString(), 0)).empty());
}

}  // namespace pools_test
}  // namespace holdfast::pool
