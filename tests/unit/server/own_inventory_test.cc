// SPDX-License-Identifier: Apache-2.0
#include "server/own_inventory.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>

#include "server/inventory_commands.h"
#include "server/list_limits.h"
#include "state/node_state.h"
#include "support/memory_pool.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::server {
namespace own_inventory_test {

using admin::v1::ListVolumesResponse;

const auto& VolumesIn(const ListVolumesResponse& list) { return list.volumes(); }
const auto& SnapshotsIn(const admin::v1::ListSnapshotsResponse& list) { return list.snapshots(); }

struct Fixture {
  Fixture() {
    Add("a-b", "n1", 40);
    Add("a", "n1", 600);
    Add("shared", "", 2);
    calls.SetReady();
  }
  void Add(const std::string& name, const std::string& node_of_pool, int volumes) {
    auto pool = std::make_unique<test::MemoryPool>(
        name, node_of_pool, "11111111-2222-3333-4444-55555555555" + std::to_string(number++));
    for (int i = 0; i < volumes; ++i) {
      VolumeSpec spec;
      spec.name = "v" + std::to_string(i);
      spec.capacity.required = kMiB;
      REQUIRE_OK(pool->Create(spec).status());
      spec.role = VolumeRole::kSnapshot;
      spec.source = ContentSource{VolumeRole::kVolume, pool->IdForName(spec.name)};
      if (i % 2 == 0) REQUIRE_OK(pool->Create(spec).status());
    }
    REQUIRE_OK(pools.Add(std::move(pool)));
  }
  // The ids in all parts, each of which must be within its bounds.
  template <typename Response, typename Entries>
  std::multiset<std::string> Ids(bool for_controller, Entries entries) {
    std::multiset<std::string> ids;
    Part part{.for_controller = for_controller};
    for (parts = 1; parts < 100; ++parts) {
      Response response;
      REQUIRE_OK(inventory.Fill(part, response));
      CHECK(static_cast<std::size_t>(entries(response).size()) <= kMostEntries);
      CHECK(response.unreachable().empty());
      for (const auto& entry : entries(response)) ids.insert(entry.id());
      part.after = response.next();
      if (part.after.empty()) break;
    }
    return ids;
  }

  int number = 1;
  int parts = 0;  // of the last list
  test::TempDirectory directory;
  state::NodeState node = test::Value(state::NodeState::Open(directory.fd()));
  pool::Pools pools;
  KeyLock locks;
  rpc::CallRunner calls;
  Reconciler reconciler{pools, node, locks};
  OwnInventory inventory{pools, node.stages, reconciler, "n1"};
  InventoryCommands commands{inventory, calls};
};

TEST_CASE_METHOD(Fixture, "every volume is in one part, also where pools' names are alike") {
  const auto ids = Ids<ListVolumesResponse>(false, VolumesIn);
  CHECK(parts == 2);
  CHECK(ids.size() == 642);
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == 642);
}

TEST_CASE_METHOD(Fixture, "every snapshot is in one part") {
  using Response = admin::v1::ListSnapshotsResponse;
  const auto ids = Ids<Response>(false, SnapshotsIn);
  CHECK(ids.size() == 321);
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == 321);
}

TEST_CASE_METHOD(Fixture, "a controller is told what is on the node, and not what it has itself") {
  const auto ids = Ids<ListVolumesResponse>(true, VolumesIn);
  CHECK(ids.size() == 640);
  for (const std::string& id : ids) CHECK(VolumeId::Parse(id)->node == "n1");
  admin::v1::ListPoolsResponse listed;
  REQUIRE_OK(inventory.Fill({.for_controller = true}, listed));
  CHECK(listed.pools_size() == 2);
  REQUIRE_OK(inventory.Fill(Part{}, listed));
  CHECK(listed.pools_size() == 5);
}

TEST_CASE_METHOD(Fixture, "the node itself is one of its lists") {
  admin::v1::ListNodesResponse listed;
  REQUIRE_OK(inventory.Fill(Part{}, listed));
  REQUIRE(listed.nodes_size() == 1);
  CHECK(listed.nodes(0).name() == "n1");
  CHECK(listed.nodes(0).pools() == 2);
}

TEST_CASE_METHOD(Fixture, "over the link a part is asked for by name") {
  link::v1::Command command;
  command.set_method(ListMethodOf(ListVolumesResponse()));
  const auto result = commands.CarryOut(command);
  REQUIRE(result.has_value());
  CHECK(result->code() == 0);
  ListVolumesResponse listed;
  REQUIRE(listed.ParseFromString(result->response()));
  CHECK(static_cast<std::size_t>(listed.volumes_size()) == kMostEntries);
  admin::v1::ListRequest next;
  next.set_after(listed.next());
  command.set_request(next.SerializeAsString());
  REQUIRE(listed.ParseFromString(commands.CarryOut(command)->response()));
  CHECK(listed.volumes_size() == 640 - static_cast<int>(kMostEntries));
  CHECK(listed.next().empty());
}

TEST_CASE_METHOD(Fixture, "other commands are not its, and what is no request is refused") {
  link::v1::Command command;
  command.set_method("ListVolumes");
  CHECK_FALSE(commands.CarryOut(command));
  command.set_method(ListMethodOf(admin::v1::ListLeftoversResponse()));
  command.set_request("\xff");
  CHECK(commands.CarryOut(command)->code() == grpc::StatusCode::INVALID_ARGUMENT);
  admin::v1::ListRequest odd;
  odd.set_after("x");
  command.set_request(odd.SerializeAsString());
  for (const std::string& method :
       {ListMethodOf(admin::v1::ListLeftoversResponse()), ListMethodOf(ListVolumesResponse()),
        ListMethodOf(admin::v1::ListSnapshotsResponse())}) {
    command.set_method(method);
    CHECK(commands.CarryOut(command)->code() == grpc::StatusCode::INVALID_ARGUMENT);
  }
}

}  // namespace own_inventory_test
}  // namespace holdfast::server
