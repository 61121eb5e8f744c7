// SPDX-License-Identifier: Apache-2.0
// The blocks of snapshots on nodes: which node is asked, and which answers are refused.
#include <catch2/catch.hpp>

#include "controller/router.h"
#include "support/memory_cluster.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace router_metadata_test {

using test::CreateOf;
using test::MemoryNode;

constexpr Bytes kUnit = pool::kRangeGranularity;

struct Fixture {
  test::MemoryCluster cluster;
  MemoryNode& n1 = cluster.Add("n1");
  MemoryNode& n2 = cluster.Add("n2");
  const std::string volume =
      test::Value(cluster.Create(CreateOf("pv", {"n1"}))).volume().volume_id();
  const std::string base = test::Value(cluster.Snap(volume, "base")).snapshot().snapshot_id();
  const std::string target = test::Value(cluster.Snap(volume, "target")).snapshot().snapshot_id();

  absl::StatusOr<pool::RangePage> Ask(const RangesQuestion& question) {
    return cluster.router.FindRanges(question, std::chrono::steady_clock::now() + test::kPatience);
  }
  static link::v1::Ranges PageOf(Bytes capacity, Bytes next, const std::vector<Bytes>& bounds) {
    link::v1::Ranges page;
    page.set_capacity_bytes(capacity);
    page.set_next(next);
    for (const Bytes bound : bounds) page.add_bounds(bound);
    return page;
  }
};

TEST_CASE_METHOD(Fixture, "the node of the snapshot is asked, without secrets") {
  cluster.TakeMethods();
  n1.Say(PageOf(8 * kUnit, 8 * kUnit, {kUnit, 2 * kUnit}));
  RangesQuestion question{.snapshot = target, .base = base, .offset = kUnit};
  question.secrets["user"] = "key";
  const pool::RangePage page = test::Value(Ask(question));
  CHECK(page.ranges == pool::Ranges{{kUnit, 2 * kUnit}});
  CHECK((page.capacity == 8 * kUnit && page.next == 8 * kUnit));
  const std::vector<link::v1::Command> heard = n1.TakeCommands();
  REQUIRE(heard.size() == 1);
  CHECK(heard.front().method() == "FindRanges");
  link::v1::FindRanges asked;
  REQUIRE(asked.ParseFromString(heard.front().request()));
  CHECK((asked.snapshot() == target && asked.base() == base && asked.offset() == kUnit));
  CHECK(n2.TakeCommands().empty());
}

TEST_CASE_METHOD(Fixture, "a page that cannot be one is refused") {
  const struct {
    const char* what;
    link::v1::Ranges page;
  } rows[] = {
      {"no page", {}},
      {"no progress", PageOf(8 * kUnit, kUnit, {})},
      {"beyond the end", PageOf(8 * kUnit, 9 * kUnit, {})},
      {"a range before the offset", PageOf(8 * kUnit, 8 * kUnit, {0, 2 * kUnit})},
      {"overlapping", PageOf(8 * kUnit, 8 * kUnit, {kUnit, 3 * kUnit, 2 * kUnit, 4 * kUnit})},
      {"a range without an end", PageOf(8 * kUnit, 8 * kUnit, {kUnit})},
      {"an empty one", PageOf(8 * kUnit, 8 * kUnit, {kUnit, kUnit})},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    n1.Say(row.page);
    CHECK_FAILS(Ask({.snapshot = target, .offset = kUnit}), kUnavailable, "is refused");
  }
}

TEST_CASE_METHOD(Fixture, "a node has only the codes of such a call, and has to be there") {
  n1.Refuse(absl::StatusCode::kOutOfRange);
  CHECK(test::CodeOf(Ask({.snapshot = target})) == absl::StatusCode::kOutOfRange);
  n1.Refuse(absl::StatusCode::kFailedPrecondition);
  CHECK(test::CodeOf(Ask({.snapshot = target})) == absl::StatusCode::kFailedPrecondition);
  n1.Refuse(absl::StatusCode::kResourceExhausted);
  CHECK(test::CodeOf(Ask({.snapshot = target})) == absl::StatusCode::kInternal);
  // What a pool in memory does not know is answered by the node's own service.
  n1.AnswerAgain();
  CHECK_FAILS(Ask({.snapshot = target}), kFailedPrecondition, "does not know which blocks");
  n1.Leave();
  CHECK(test::CodeOf(Ask({.snapshot = target})) == absl::StatusCode::kUnavailable);
  CHECK(test::CodeOf(Ask({.snapshot = "nonsense"})) == absl::StatusCode::kNotFound);
}

}  // namespace router_metadata_test
}  // namespace holdfast::controller
