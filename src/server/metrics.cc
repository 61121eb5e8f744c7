// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <map>
#include <utility>
#include <vector>

#include "core/version.h"
#include "server/grpc_log.h"
#include "server/metric_family.h"
#include "server/process_metrics.h"
#include "server/volume_metrics.h"

namespace holdfast::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// From a repeated publish to the mkfs of a large volume.
const prometheus::Histogram::BucketBoundaries kSeconds{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

// What the snapshots of each pool are and share.
class SnapshotFamilies final {
 public:
  void Add(const std::string& pool, const pool::PoolUsage& usage) {
    const auto add = [&](const char* blocks, std::size_t count) {
      server::Add(snapshots_, {{"pool", pool}, {"blocks", blocks}}, count);
    };
    add("copying", usage.snapshots.copying);
    add("shared", usage.snapshots.shared);
    add("settling", usage.snapshots.settling);
    add("own", usage.snapshots.own);
    if (!usage.blocks) return;
    server::Add(bytes_, {{"pool", pool}, {"kind", "shared"}}, usage.blocks->snapshots_shared);
    server::Add(bytes_, {{"pool", pool}, {"kind", "own"}}, usage.blocks->snapshots_own);
    server::Add(unshared_, {{"pool", pool}}, usage.blocks->unshared);
    server::Add(to_unshare_, {{"pool", pool}}, usage.blocks->to_unshare);
  }

  void MoveTo(std::vector<MetricFamily>& families) {
    Move({&snapshots_, &bytes_, &unshared_, &to_unshare_}, families);
  }

 private:
  MetricFamily snapshots_ =
      Family("holdfast_pool_snapshots", "snapshots in the pool, by whose their blocks are",
             MetricType::Gauge);
  MetricFamily bytes_ =
      Family("holdfast_pool_snapshot_bytes", "what they occupy, shared with others or their own",
             MetricType::Gauge);
  MetricFamily unshared_ =
      Family("holdfast_pool_unshared_bytes_total",
             "bytes of thick copies that were given blocks of their own", MetricType::Counter);
  MetricFamily to_unshare_ = Family("holdfast_pool_unshare_pending_bytes",
                                    "bytes that thick copies still share", MetricType::Gauge);
};

// Nodes leave the volumes of pools that all of them reach to their controller.
bool AreLookedAt(const pool::Pool& pool, const Metrics::Sources& sources) {
  return sources.linked == nullptr || !pool.info().node.empty();
}

void AddPools(const Metrics::Sources& sources, std::vector<MetricFamily>& families) {
  MetricFamily ready = Family("holdfast_pool_ready", "1 if the pool can serve", MetricType::Gauge);
  MetricFamily info =
      Family("holdfast_pool_info",
             "1; the id of the pool's storage, by which it is declared lost when it "
             "is gone for good",
             MetricType::Gauge);
  MetricFamily volumes = Family("holdfast_pool_volumes", "volumes in the pool", MetricType::Gauge);
  MetricFamily total =
      Family("holdfast_pool_size_bytes", "size of the pool's storage", MetricType::Gauge);
  MetricFamily free =
      Family("holdfast_pool_free_bytes", "unused bytes of the pool's storage", MetricType::Gauge);
  MetricFamily reserve = Family("holdfast_pool_reserve_bytes",
                                "free bytes that are kept for the host", MetricType::Gauge);
  MetricFamily provisioned = Family("holdfast_pool_provisioned_bytes",
                                    "sum of the capacities of its volumes, and of what its "
                                    "snapshots occupy",
                                    MetricType::Gauge);
  MetricFamily available = Family("holdfast_pool_available_bytes",
                                  "largest volume that can be created now", MetricType::Gauge);
  MetricFamily unallocated =
      Family("holdfast_pool_thin_unallocated_bytes",
             "what thin volumes may still write that has no storage yet", MetricType::Gauge);
  MetricFamily indirect =
      Family("holdfast_pool_volumes_without_direct_io",
             "volumes in use whose I/O goes through the host's page cache, although the pool could "
             "do without",
             MetricType::Gauge);
  MetricFamily abnormal = Family("holdfast_pool_volumes_abnormal",
                                 "volumes whose storage or filesystem has a problem; see holdfast "
                                 "volumes",
                                 MetricType::Gauge);
  MetricFamily trash = Family(
      "holdfast_pool_trash_entries",
      "deleted volumes and snapshots that are kept; see holdfast trash list", MetricType::Gauge);
  MetricFamily trash_bytes =
      Family("holdfast_pool_trash_bytes", "what they alone occupy", MetricType::Gauge);
  SnapshotFamilies snapshots;
  VolumeFamilies each;
  for (pool::Pool* const pool : sources.pools.all()) {
    const std::string& name = pool->info().name;
    const auto usage =
        sources.pools.questions().Put(*pool, [](pool::Pool& one) { return one.GetUsage(); });
    Add(ready, {{"pool", name}}, usage.ok() ? 1 : 0);
    Add(info, {{"pool", name}, {"id", pool->info().id}}, 1);
    if (!usage.ok()) continue;
    Add(volumes, {{"pool", name}}, usage->volumes);
    Add(total, {{"pool", name}}, usage->total);
    Add(free, {{"pool", name}}, usage->free);
    Add(reserve, {{"pool", name}}, usage->reserve);
    Add(provisioned, {{"pool", name}, {"provisioning", "thick"}}, usage->thick_provisioned);
    Add(provisioned, {{"pool", name}, {"provisioning", "thin"}}, usage->thin_provisioned);
    Add(available, {{"pool", name}, {"provisioning", "thick"}}, usage->thick_available);
    Add(available, {{"pool", name}, {"provisioning", "thin"}}, usage->thin_available);
    if (usage->thin_unallocated) Add(unallocated, {{"pool", name}}, *usage->thin_unallocated);
    Add(indirect, {{"pool", name}}, usage->without_direct_io);
    Add(trash, {{"pool", name}}, usage->trash.entries);
    Add(trash_bytes, {{"pool", name}}, usage->trash.allocated);
    snapshots.Add(name, *usage);
    if (!AreLookedAt(*pool, sources)) continue;
    if (const auto count = sources.abnormal.Count(*pool)) Add(abnormal, {{"pool", name}}, *count);
    if (sources.each_volume) each.Add(sources.pools.questions(), *pool);
  }
  Move({&ready, &info, &volumes, &total, &free, &reserve, &provisioned, &available, &unallocated,
        &indirect, &abnormal, &trash, &trash_bytes},
       families);
  snapshots.MoveTo(families);
  each.MoveTo(families);
}

void AddReconciler(const Reconciler& reconciler, std::vector<MetricFamily>& families) {
  MetricFamily rounds =
      Family("holdfast_reconcile_rounds_total", "rounds of the search for unfinished operations",
             MetricType::Counter);
  Add(rounds, {}, reconciler.rounds());
  MetricFamily repaired = Family("holdfast_reconcile_repaired_total",
                                 "leftovers that were ended, by kind", MetricType::Counter);
  MetricFamily left =
      Family("holdfast_leftovers", "leftovers that wait for a person, by kind; see holdfast doctor",
             MetricType::Gauge);
  const std::map<LeftoverKind, std::uint64_t> ended = reconciler.Repaired();
  std::map<LeftoverKind, std::uint64_t> open;
  for (const Reconciler::OpenLeftover& leftover : reconciler.Open()) ++open[leftover.leftover.kind];
  const auto count = [](const auto& counts, LeftoverKind kind) {
    const auto found = counts.find(kind);
    return found == counts.end() ? 0 : found->second;
  };
  // All kinds, so that the first one of a kind is seen as an increase.
  for (const LeftoverKind kind : AllLeftoverKinds()) {
    const std::string name(ToString(kind));
    Add(repaired, {{"kind", name}}, count(ended, kind));
    Add(left, {{"kind", name}}, count(open, kind));
  }
  Move({&rounds, &repaired, &left}, families);
}

void AddTrims(const Trimmer& trimmer, std::vector<MetricFamily>& families) {
  if (!trimmer.is_on()) return;
  const Trimmer::Figures figures = trimmer.figures();
  MetricFamily bytes = Family("holdfast_trimmed_bytes_total",
                              "free space of volumes that was offered to their pools, as the "
                              "filesystems count it",
                              MetricType::Counter);
  Add(bytes, {}, figures.trimmed_bytes);
  MetricFamily trims = Family("holdfast_trims_total", "scheduled trims of volumes that have ended",
                              MetricType::Counter);
  Add(trims, {{"result", "done"}}, figures.done);
  Add(trims, {{"result", "failed"}}, figures.failed);
  MetricFamily put_off =
      Family("holdfast_trim_steps_put_off_total",
             "steps of trims that waited because a call had the volume", MetricType::Counter);
  Add(put_off, {}, figures.put_off);
  MetricFamily last = Family("holdfast_trim_last_round_timestamp_seconds",
                             "when the last round over all volumes ended", MetricType::Gauge);
  if (figures.last_round) {
    Add(last, {}, std::chrono::system_clock::to_time_t(*figures.last_round));
  }
  Move({&bytes, &trims, &put_off, &last}, families);
}

void AddTransfers(const controller::ContentTransfers& transfers,
                  std::vector<MetricFamily>& families) {
  MetricFamily running =
      Family("holdfast_transfers",
             "copies from other pools and nodes, or to other nodes, under way", MetricType::Gauge);
  MetricFamily bytes =
      Family("holdfast_transfer_bytes_total", "data that they have taken or sent, without zeros",
             MetricType::Counter);
  MetricFamily ended = Family("holdfast_transfers_ended_total",
                              "attempts that have ended, by gRPC code", MetricType::Counter);
  const auto add = [&](const char* direction, const controller::TransferFigures& figures) {
    Add(running, {{"direction", direction}}, figures.running);
    Add(bytes, {{"direction", direction}}, figures.bytes);
    for (const auto& [code, count] : figures.ended) {
      Add(ended, {{"direction", direction}, {"code", std::string(CodeName(code))}}, count);
    }
  };
  const controller::TransferFigures arriving = transfers.Arriving();
  add("received", arriving);
  add("sent", transfers.Sending());
  MetricFamily continued =
      Family("holdfast_transfers_resumed_total",
             "attempts that began where an earlier one had come to", MetricType::Counter);
  Add(continued, {}, arriving.continued);
  Move({&running, &bytes, &ended, &continued}, families);
}

void AddRelay(const link::TransferRelay& relay, std::vector<MetricFamily>& families) {
  MetricFamily relayed = Family("holdfast_link_transfers",
                                "transfers between nodes that are passed on", MetricType::Gauge);
  Add(relayed, {}, relay.CountTransfers());
  families.push_back(std::move(relayed));
}

void AddNodeLink(const std::atomic<bool>& linked, std::vector<MetricFamily>& families) {
  MetricFamily connected = Family("holdfast_link_connected",
                                  "1 if the node is linked to its controller", MetricType::Gauge);
  Add(connected, {}, linked ? 1 : 0);
  families.push_back(std::move(connected));
}

void AddLink(const link::Hub& hub, std::vector<MetricFamily>& families) {
  MetricFamily nodes = Family("holdfast_link_nodes", "nodes that are connected", MetricType::Gauge);
  Add(nodes, {}, hub.CountNodes());
  MetricFamily missing =
      Family("holdfast_link_missing_nodes",
             "nodes that were connected not long ago and are not now", MetricType::Gauge);
  Add(missing, {}, hub.Missing().size());
  MetricFamily refused =
      Family("holdfast_link_refused_total", "peers that were turned away", MetricType::Counter);
  Add(refused, {{"code", "TLS"}}, FailedHandshakes());
  for (const auto& [code, count] : hub.Refusals()) {
    Add(refused, {{"code", std::string(CodeName(code))}}, count);
  }
  families.insert(families.end(), {std::move(nodes), std::move(missing), std::move(refused)});
}

}  // namespace

Metrics::Metrics(const Sources& sources)
    : sources_(sources),
      calls_(prometheus::BuildCounter()
                 .Name("holdfast_calls_total")
                 .Help("CSI calls answered, by method and gRPC code")
                 .Register(registry_)),
      durations_(prometheus::BuildHistogram()
                     .Name("holdfast_call_duration_seconds")
                     .Help("time to answer, by method")
                     .Register(registry_)),
      freezes_(prometheus::BuildHistogram()
                   .Name("holdfast_freeze_duration_seconds")
                   .Help("how long a filesystem was frozen for a snapshot or clone")
                   .Register(registry_)
                   .Add({}, kSeconds)),
      rescued_freezes_(prometheus::BuildCounter()
                           .Name("holdfast_freezes_rescued_total")
                           .Help("freezes that lasted too long and were ended by the guard")
                           .Register(registry_)
                           .Add({})) {
  prometheus::BuildGauge()
      .Name("holdfast_build_info")
      .Help("1; the label is the version")
      .Register(registry_)
      .Add({{"version", kVersion}})
      .Set(1);
}

void Metrics::CountCall(std::string_view method, absl::StatusCode code,
                        std::chrono::steady_clock::duration duration) {
  const std::string name(method);
  calls_.Add({{"method", name}, {"code", std::string(CodeName(code))}}).Increment();
  durations_.Add({{"method", name}}, kSeconds)
      .Observe(std::chrono::duration<double>(duration).count());
}

void Metrics::CountFreeze(std::chrono::steady_clock::duration lasted, bool held) {
  freezes_.Observe(std::chrono::duration<double>(lasted).count());
  if (!held) rescued_freezes_.Increment();
}

std::string Metrics::Text() const {
  std::vector<MetricFamily> families = registry_.Collect();
  AddProcess(families);
  AddPools(sources_, families);
  AddReconciler(sources_.reconciler, families);
  AddTrims(sources_.trimmer, families);
  AddTransfers(sources_.transfers, families);
  if (sources_.linked != nullptr) AddNodeLink(*sources_.linked, families);
  if (sources_.hub != nullptr) AddLink(*sources_.hub, families);
  if (sources_.relay != nullptr) AddRelay(*sources_.relay, families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace holdfast::server
