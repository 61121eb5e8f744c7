// SPDX-License-Identifier: Apache-2.0
#include "cli/inventory_tables.h"

#include <catch2/catch.hpp>

#include "cli/inventory_selection.h"

namespace holdfast::cli {
namespace inventory_tables_test {

constexpr char kThen[] = "2026-01-31T12:00:00Z";

absl::Time At(const std::string& text) {
  absl::Time time;
  REQUIRE(absl::ParseTime(absl::RFC3339_full, text, &time, nullptr));
  return time;
}

Selection OfPool(const std::string& pool) {
  Selection selection;
  selection.pool = pool;
  return selection;
}

TEST_CASE("an age is in a unit that says enough") {
  const absl::Time then = At(kThen);
  CHECK(AgeText(kThen, then) == "0s");
  CHECK(AgeText(kThen, then + absl::Seconds(119)) == "119s");
  CHECK(AgeText(kThen, then + absl::Minutes(2)) == "2m");
  CHECK(AgeText(kThen, then + absl::Hours(2)) == "2h");
  CHECK(AgeText(kThen, then + absl::Hours(47)) == "47h");
  CHECK(AgeText(kThen, then + absl::Hours(48)) == "2d");
  CHECK(AgeText(kThen, then - absl::Hours(1)) == "0s");
  CHECK(AgeText("yesterday", then).empty());
}

TEST_CASE("a list is in the order of nodes, pools and names") {
  admin::v1::ListVolumesResponse list;
  for (const auto& [node, pool, name] :
       {std::tuple{"n2", "a", "x"}, {"n1", "b", "x"}, {"n1", "a", "y"}, {"n1", "a", "x"}}) {
    auto& volume = *list.add_volumes();
    volume.set_node(node);
    volume.set_pool(pool);
    volume.set_name(name);
  }
  Select({}, list);
  std::string order;
  for (const auto& volume : list.volumes()) {
    order += volume.node() + volume.pool() + volume.name() + " ";
  }
  CHECK(order == "n1ax n1ay n1bx n2ax ");
}

TEST_CASE("a leftover is in the pool of its subject") {
  const std::string uuid = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";
  for (const std::string& subject : {"fast:n1:" + uuid, "s:fast:n1:" + uuid, std::string("fast")}) {
    admin::v1::ListLeftoversResponse list;
    list.add_leftovers()->set_subject(subject);
    Select(OfPool("fast"), list);
    CHECK(list.leftovers_size() == 1);
    Select(OfPool("slow"), list);
    CHECK(list.leftovers_size() == 0);
  }
}

}  // namespace inventory_tables_test
}  // namespace holdfast::cli
