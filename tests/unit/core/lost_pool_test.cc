// SPDX-License-Identifier: Apache-2.0
#include "core/lost_pool.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast {
namespace lost_pool_test {

constexpr char kUuid[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001";
constexpr char kOther[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a002";

std::string Text(const std::string& place, const std::string& id = kUuid) {
  return place + "=" + id;
}

TEST_CASE("a lost pool is a node, a pool and the id of its storage") {
  const LostPool lost = test::Value(ParseLostPool(Text("worker-1.example/default")));
  CHECK(lost == LostPool{"worker-1.example", "default", kUuid});
  CHECK(lost.ToString() == Text("worker-1.example/default"));
}

TEST_CASE("what is no declaration of a lost pool is refused") {
  for (const std::string& text :
       {std::string(), std::string("n1"), std::string("n1/default"), std::string("n1="),
        Text("default"), Text("/default"), Text("n1/"), Text("n1/../x"), Text("n 1/default"),
        Text("n1/default", "lost"), Text("n1/default", ""),
        "n1=" + std::string(kUuid) + "/default"}) {
    CAPTURE(text);
    CHECK(absl::IsInvalidArgument(ParseLostPool(text).status()));
  }
}

TEST_CASE("a pool may be declared twice, but with one id") {
  CHECK(test::Value(ParseLostPools({Text("n1/a"), Text("n1/b"), Text("n1/a")})).size() == 2);
  CHECK_FAILS(ParseLostPools({Text("n1/a"), Text("n1/a", kOther)}), kInvalidArgument, "two ids");
}

}  // namespace lost_pool_test
}  // namespace holdfast
