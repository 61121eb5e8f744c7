// SPDX-License-Identifier: Apache-2.0
// ListVolumes of a controller with nodes.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "controller/router.h"
#include "support/csi_requests.h"
#include "support/memory_cluster.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace router_list_test {

using std::chrono::milliseconds;
using test::CreateOf;
using test::MemoryNode;
using Cluster = test::MemoryCluster;

constexpr std::chrono::hours kNever{1};

using Entries = std::map<std::string, csi::v1::ListVolumesResponse::Entry>;

// All pages; each page except the last is full.
Entries ListInPages(Cluster& cluster, int size, milliseconds time = test::kPatience) {
  Entries entries;
  std::string token;
  do {
    const auto page = test::Value(cluster.List(size, token, time));
    for (const auto& entry : page.entries()) {
      REQUIRE(entries.emplace(entry.volume().volume_id(), entry).second);
    }
    token = page.next_token();
    if (size != 0) {
      CHECK(page.entries_size() <= size);
      CHECK((token.empty() || page.entries_size() == size));
    }
  } while (!token.empty());
  return entries;
}

const char kUnknown[] = "its node has not answered, so its condition is not known";

std::string ConditionIn(const Entries& entries, const std::string& id) {
  REQUIRE(entries.contains(id));
  return entries.at(id).status().volume_condition().message();
}

TEST_CASE("a list has the volumes of all nodes and of the own pools, in pages of any size") {
  Cluster cluster;
  std::set<std::string> made = {cluster.CreateShared("s-1"), cluster.CreateShared("s-2")};
  for (const std::string name : {"n1", "n2", "n3"}) {
    MemoryNode& node = cluster.Add(name);
    for (const std::string volume : {"a", "b", "c"}) {
      if (name == "n2") continue;  // it has none
      REQUIRE_OK(cluster.Create(CreateOf(name + volume, {name}, 20 * kMiB)));
      made.insert(node.IdOf(name + volume));
    }
  }
  for (const int size : {0, 1, 2, 3, 5, 8, 100}) {
    CAPTURE(size);
    const Entries entries = ListInPages(cluster, size);
    CHECK(entries.size() == made.size());
    for (const std::string& id : made) CHECK(ConditionIn(entries, id) == "fine");
    const auto& one = entries.at(cluster.nodes.front().IdOf("n1a"));
    CHECK(one.volume().capacity_bytes() == 20 * kMiB);
    CHECK(NodeOf(one.volume().accessible_topology(0), test::kDriverName) == "n1");
  }
  CHECK_FAILS(cluster.List(-1), kInvalidArgument, "max_entries");
  CHECK_FAILS(cluster.List(0, "no token"), kAborted, "starting_token");
  CHECK_FAILS(cluster.List(0, "n1|no id"), kAborted, "starting_token");
}

TEST_CASE("a list has the volumes of nodes that are away or silent, and not their condition") {
  Cluster cluster;
  MemoryNode& here = cluster.Add("n1");
  MemoryNode& away = cluster.Add("n2");
  MemoryNode& silent = cluster.Add("n3");
  MemoryNode& failing = cluster.Add("n4");
  for (MemoryNode& node : cluster.nodes) {
    REQUIRE_OK(cluster.Create(CreateOf("pv-" + node.name(), {node.name()})));
  }
  away.Leave();
  silent.KeepSilent();
  failing.Refuse(absl::StatusCode::kInternal);
  const Entries entries = ListInPages(cluster, 0, milliseconds(800));  // a quarter for the silent
  CHECK(entries.size() == 4);
  CHECK(ConditionIn(entries, here.IdOf("pv-n1")) == "fine");
  CHECK(ConditionIn(entries, away.IdOf("pv-n2")) == kUnknown);
  CHECK(ConditionIn(entries, silent.IdOf("pv-n3")) == kUnknown);
  CHECK(ConditionIn(entries, failing.IdOf("pv-n4")) == kUnknown);
}

TEST_CASE("a node cannot put other nodes' volumes into a list; what it leaves out is gone") {
  Cluster cluster;
  MemoryNode& node = cluster.Add("n1");
  MemoryNode& other = cluster.Add("n2");
  REQUIRE_OK(cluster.Create(CreateOf("a", {"n1"})));
  REQUIRE_OK(cluster.Create(CreateOf("b", {"n1"})));
  csi::v1::ListVolumesResponse answer;
  for (const std::string& id : {node.IdOf("a"), node.IdOf("new"), other.IdOf("false")}) {
    answer.add_entries()->mutable_volume()->set_volume_id(id);
  }
  node.Say(answer);
  const Entries whole = ListInPages(cluster, 0);
  CHECK(whole.size() == 1);
  CHECK(whole.contains(node.IdOf("a")));
  // A volume that may be on its next page is not missing.
  answer.set_next_token("more");
  node.Say(answer);
  const Entries part = ListInPages(cluster, 0);
  CHECK(part.size() == 2);
  CHECK(ConditionIn(part, node.IdOf("b")) == kUnknown);
}

TEST_CASE("no list before the nodes are back") {
  Cluster cluster({.settle = kNever, .longest_settle = kNever});
  cluster.Add("n1");
  const absl::Status status = cluster.List(0, "", milliseconds(50)).status();
  CHECK((absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)));
}

}  // namespace router_list_test
}  // namespace holdfast::controller
