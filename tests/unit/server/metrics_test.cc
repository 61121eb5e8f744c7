// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "state/node_state.h"
#include "support/await.h"
#include "support/memory_pool.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::server {
namespace metrics_test {

using namespace std::chrono_literals;
using Catch::Contains;

constexpr Bytes kSize = 3 * kMiB;

class Zeros final : public ContentReader {
 public:
  Bytes size() const override { return kSize; }
  absl::StatusOr<std::optional<ContentPiece>> Next(Bytes offset) override {
    if (offset >= kSize) return std::nullopt;
    return ContentPiece{offset, std::string(kMiB, '\0')};
  }
};

struct Fixture {
  Fixture() {
    auto made = std::make_unique<test::MemoryPool>("p", "n1");
    pool = made.get();
    REQUIRE_OK(pools.Add(std::move(made)));
  }
  std::string Text() const { return metrics.Text(); }
  void Create(const std::string& name, bool claimed = false) {
    VolumeSpec spec;
    spec.name = name;
    spec.capacity.required = kMiB;
    if (claimed) spec.requested_by = RequestingObjects{"shop", "orders", name};
    REQUIRE_OK(pool->Create(spec));
  }

  std::atomic<bool> may_end = false;  // what a test has sent under way
  test::TempDirectory directory;
  state::NodeState state = test::Value(state::NodeState::Open(directory.fd()));
  KeyLock locks;
  pool::Pools pools;
  test::MemoryPool* pool = nullptr;
  Reconciler reconciler{pools, state, locks};
  controller::ContentTransfers transfers{locks, 0};
  AbnormalVolumes abnormal{pools};
  Trimmer trimmer{pools, state, locks};
  Metrics metrics{{.pools = pools,
                   .reconciler = reconciler,
                   .transfers = transfers,
                   .abnormal = abnormal,
                   .trimmer = trimmer}};
};

TEST_CASE_METHOD(Fixture, "snapshots are counted by whose their blocks are") {
  pool->usage.snapshots = {.copying = 1, .shared = 2, .settling = 3, .own = 4};
  pool->usage.blocks = pool::BlockSharing{
      .snapshots_shared = 100, .snapshots_own = 200, .unshared = 300, .to_unshare = 400};
  pool->usage.without_direct_io = 5;
  for (const char* const line : {R"(holdfast_pool_snapshots{pool="p",blocks="copying"} 1)",
                                 R"(holdfast_pool_snapshots{pool="p",blocks="shared"} 2)",
                                 R"(holdfast_pool_snapshots{pool="p",blocks="settling"} 3)",
                                 R"(holdfast_pool_snapshots{pool="p",blocks="own"} 4)",
                                 R"(holdfast_pool_snapshot_bytes{pool="p",kind="shared"} 100)",
                                 R"(holdfast_pool_snapshot_bytes{pool="p",kind="own"} 200)",
                                 R"(holdfast_pool_unshared_bytes_total{pool="p"} 300)",
                                 R"(holdfast_pool_unshare_pending_bytes{pool="p"} 400)",
                                 R"(holdfast_pool_volumes_without_direct_io{pool="p"} 5)"}) {
    CHECK_THAT(Text(), Contains(std::string(line) + "\n"));
  }
}

TEST_CASE_METHOD(Fixture, "of a pool whose storage alone knows them no bytes are claimed") {
  pool->usage.snapshots.shared = 2;
  CHECK_THAT(Text(), Contains(R"(holdfast_pool_snapshots{pool="p",blocks="shared"} 2)"));
  CHECK_THAT(Text(), !Contains("holdfast_pool_snapshot_bytes"));
  CHECK_THAT(Text(), !Contains("unshare"));
}

TEST_CASE_METHOD(Fixture, "what a pool keeps for its host, and owes to thin volumes, is reported") {
  CHECK_THAT(Text(), !Contains("holdfast_pool_thin_unallocated_bytes"));
  pool->usage.reserve = 700;
  pool->usage.thin_unallocated = 800;
  CHECK_THAT(Text(), Contains("holdfast_pool_thin_unallocated_bytes{pool=\"p\"} 800\n"));
  CHECK_THAT(Text(), Contains("holdfast_pool_reserve_bytes{pool=\"p\"} 700\n"));
}

TEST_CASE_METHOD(Fixture, "the id of a pool's storage is reported") {
  CHECK_THAT(Text(), Contains("holdfast_pool_info{pool=\"p\",id=\"" + pool->info().id + "\"} 1\n"));
}

TEST_CASE_METHOD(Fixture, "every kind of leftover is reported, also when there is none of it") {
  const std::string text = Text();
  REQUIRE(AllLeftoverKinds().size() > 10);
  CHECK(AllLeftoverKinds().back() == LeftoverKind::kInterruptedGrowth);
  for (const LeftoverKind kind : AllLeftoverKinds()) {
    const std::string label = "{kind=\"" + std::string(ToString(kind)) + "\"} 0\n";
    CHECK_THAT(text, Contains("holdfast_leftovers" + label) &&
                         Contains("holdfast_reconcile_repaired_total" + label));
  }
}

TEST_CASE_METHOD(Fixture, "abnormal volumes are counted") {
  for (const char* const name : {"one", "two", "three"}) Create(name);
  const auto shows = [&](const std::string& count) {
    return Text().find("holdfast_pool_volumes_abnormal{pool=\"p\"} " + count + "\n") !=
           std::string::npos;
  };
  CHECK(shows("0"));
  pool->damaged = {"one", "three"};
  test::Await([&] { return shows("2"); });
  pool->damaged = {};
  test::Await([&] { return shows("0"); });
}

TEST_CASE_METHOD(Fixture, "what each volume takes is reported to those who want to know") {
  Create("one", true);
  Create("other");
  CHECK_THAT(Text(), !Contains("holdfast_volume_"));
  const Metrics with_each({.pools = pools,
                           .reconciler = reconciler,
                           .transfers = transfers,
                           .abnormal = abnormal,
                           .trimmer = trimmer,
                           .each_volume = true});
  const auto labels_of = [&](const std::string& name, const std::string& claim) {
    return "{pool=\"p\",volume_id=\"" + pool->IdForName(name).ToString() + "\"," + claim + "} ";
  };
  const std::string labels = labels_of("one", "claim_namespace=\"shop\",claim=\"orders\"");
  CHECK_THAT(with_each.Text(), Contains("holdfast_volume_capacity_bytes" + labels + "1048576\n") &&
                                   !Contains("holdfast_volume_allocated_bytes"));
  pool->allocated = 4096;
  CHECK_THAT(with_each.Text(), Contains("holdfast_volume_allocated_bytes" + labels + "4096\n") &&
                                   Contains("holdfast_volume_capacity_bytes" +
                                            labels_of("other", "claim_namespace=\"\",claim=\"\"")));
}

TEST_CASE("volumes that every node reaches are looked at by the controller alone") {
  pool::Pools pools;
  REQUIRE_OK(pools.Add(std::make_unique<test::MemoryPool>("shared", "")));
  test::TempDirectory directory;
  const state::NodeState state = test::Value(state::NodeState::Open(directory.fd()));
  KeyLock locks;
  const Reconciler reconciler(pools, state, locks);
  const controller::ContentTransfers transfers(locks, 0);
  AbnormalVolumes abnormal(pools);
  const Trimmer trimmer(pools, state, locks);
  std::atomic<bool> linked = false;
  Metrics::Sources sources{.pools = pools,
                           .reconciler = reconciler,
                           .transfers = transfers,
                           .abnormal = abnormal,
                           .trimmer = trimmer};
  CHECK_THAT(Metrics(sources).Text(), Contains("holdfast_pool_volumes_abnormal"));
  sources.linked = &linked;
  CHECK_THAT(Metrics(sources).Text(), !Contains("holdfast_pool_volumes_abnormal"));
}

TEST_CASE_METHOD(Fixture, "only a node that dials a controller has a link to tell of") {
  CHECK_THAT(Text(), !Contains("holdfast_link_connected"));
  std::atomic<bool> linked = false;
  const Metrics of_node({.pools = pools,
                         .reconciler = reconciler,
                         .transfers = transfers,
                         .abnormal = abnormal,
                         .trimmer = trimmer,
                         .linked = &linked});
  CHECK_THAT(of_node.Text(), Contains("holdfast_link_connected 0\n"));
  linked = true;
  CHECK_THAT(of_node.Text(), Contains("holdfast_link_connected 1\n"));
}

TEST_CASE_METHOD(Fixture, "the process is measured by the common names") {
  for (const char* const name :
       {"process_cpu_seconds_total", "process_start_time_seconds", "process_resident_memory_bytes",
        "process_virtual_memory_bytes", "process_threads", "process_open_fds", "process_max_fds"}) {
    CHECK_THAT(Text(), Contains("\n" + std::string(name) + " "));
  }
}

TEST_CASE_METHOD(Fixture, "freezes are measured, and those that the guard ended counted") {
  CHECK_THAT(Text(), Contains("holdfast_freeze_duration_seconds_count 0\n") &&
                         Contains("holdfast_freezes_rescued_total 0\n"));
  metrics.CountFreeze(30ms, true);
  metrics.CountFreeze(10s, false);
  for (const char* const line :
       {"holdfast_freeze_duration_seconds_count 2", "holdfast_freeze_duration_seconds_sum 10.03",
        R"(holdfast_freeze_duration_seconds_bucket{le="0.025"} 0)",
        R"(holdfast_freeze_duration_seconds_bucket{le="0.05"} 1)",
        R"(holdfast_freeze_duration_seconds_bucket{le="10"} 2)",
        "holdfast_freezes_rescued_total 1"}) {
    CHECK_THAT(Text(), Contains(std::string(line) + "\n"));
  }
}

TEST_CASE_METHOD(Fixture, "trims are told of where there are any") {
  CHECK_THAT(Text(), !Contains("holdfast_trim"));
  trimmer.Start(1ms);
  test::Await([&] { return Text().find("holdfast_trim_last_round") != std::string::npos; });
  for (const char* const line :
       {"holdfast_trimmed_bytes_total 0", "holdfast_trim_steps_put_off_total 0",
        R"(holdfast_trims_total{result="done"} 0)", R"(holdfast_trims_total{result="failed"} 0)"}) {
    CHECK_THAT(Text(), Contains(std::string(line) + "\n"));
  }
}

TEST_CASE_METHOD(Fixture, "what is sent is counted while it goes and when it has ended") {
  transfers.SetLink({.send = [&](const std::string& ticket, ContentReader& reader) -> absl::Status {
                       (void)reader.Next(0);
                       while (!may_end) std::this_thread::yield();
                       if (ticket == "good") return absl::OkStatus();
                       return Unavailable("the stream broke");
                     },
                     .take = nullptr,
                     .cancel = [&] { may_end = true; }});
  for (const char* const ticket : {"good", "broken"}) {
    REQUIRE_OK(transfers.Send(ticket, std::make_unique<Zeros>()));
  }
  test::Await([&] { return transfers.Sending().bytes == 2 * kMiB; });
  CHECK_THAT(Text(), Contains("holdfast_transfers{direction=\"sent\"} 2\n") &&
                         Contains("holdfast_transfers{direction=\"received\"} 0\n") &&
                         Contains("holdfast_transfer_bytes_total{direction=\"sent\"} 2097152\n"));
  CHECK_THAT(Text(), !Contains("holdfast_transfers_ended_total"));
  may_end = true;
  test::Await([&] { return transfers.Sending().running == 0; });
  CHECK_THAT(
      Text(),
      Contains(R"(holdfast_transfers_ended_total{direction="sent",code="OK"} 1)") &&
          Contains(R"(holdfast_transfers_ended_total{direction="sent",code="UNAVAILABLE"} 1)"));
}

TEST_CASE_METHOD(Fixture, "what comes is counted when it has ended") {
  const VolumeId id = pool->IdForName("pv");
  CHECK_FAILS(transfers.Copy(*pool, id, Content{}, std::make_unique<Zeros>()), kFailedPrecondition,
              "");  // that pool takes none
  CHECK_THAT(
      Text(),
      Contains(
          R"(holdfast_transfers_ended_total{direction="received",code="FAILED_PRECONDITION"} 1)") &&
          Contains("holdfast_transfers_resumed_total 0\n"));
}

}  // namespace metrics_test
}  // namespace holdfast::server
